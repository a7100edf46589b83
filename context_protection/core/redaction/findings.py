"""The findings of redaction, and the text that replaces a redacted value."""

import re
from dataclasses import dataclass
from typing import Literal

# The mark that replaces a redacted value.
MARK = re.compile(r"\[withheld: [^\]\n]{1,40}\]")


@dataclass(frozen=True, slots=True)
class Finding:
    """A redacted value: its path and kind, never the value itself."""

    path: tuple[str | int, ...]
    name: str  # the name of the field, or of the name/value pair
    kind: str
    how: Literal["field", "pair", "text"]


def mark(kind: str) -> str:
    return f"[withheld: {kind}]"
