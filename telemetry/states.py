"""States have a shape, a word and a colour, so that no reader depends on colour."""

from enum import Enum

from django.utils.html import format_html
from django.utils.safestring import SafeString


class State(Enum):
    """Value: the name of its shape in templates/telemetry/_shapes.html and of its colour in pages/shell.css, its word,
    and the character that stands for it in plain text."""

    OK = ("ok", "OK", "●")
    DEGRADED = ("degraded", "Degraded", "▲")
    DOWN = ("down", "Down", "■")
    NO_DATA = ("no-data", "No data", "○")
    PENDING = ("pending", "Pending", "◐")
    RECOVERING = ("recovering", "Recovering", "◇")
    SILENCED = ("silenced", "Silenced", "‖")
    ERROR = ("error", "Error", "✕")

    @property
    def key(self) -> str:
        return self.value[0]

    @property
    def word(self) -> str:
        return self.value[1]

    @property
    def character(self) -> str:
        """The shape as a character, for titles and plain text."""
        return self.value[2]

    @property
    def icon(self) -> SafeString:
        """The shape alone, for a place where the word stands beside it."""
        return format_html('<svg class="shape {0}" aria-hidden="true"><use href="#shape-{0}"/></svg>', self.key)

    @property
    def sign(self) -> SafeString:
        """The shape, with its word for screen readers."""
        return format_html('{}<span class="hidden">{}</span>', self.icon, self.word)


# Templates use the members; Django would call the class.
State.do_not_call_in_templates = True  # type: ignore[attr-defined]
