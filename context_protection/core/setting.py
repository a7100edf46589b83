"""A setting of the policy, declared once.

The policy's fields, the environment variables, the columns and the form of a budget, its JSON Schema and the
documentation are all derived from these declarations.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, StrEnum
from typing import Any, get_type_hints

from context_protection.core.scopes import Breadth

Value = bool | int | str
LONGEST_SHOWN = 80  # characters of an invalid value in a message


class SettingGroup(StrEnum):
    """The headings of the admin's form and of the documentation, in display order."""

    BUDGET = "Budget (tokens)"
    PRIVACY = "Privacy"
    PREVIEWS = "Previews"
    PAGES = "Pages (rows)"
    TEXTS = "Long texts"
    TIME = "Time (seconds)"
    SWITCHES = "Switches"


class Layer(StrEnum):
    """The places where a value is set, from the weakest to the strongest. A value in a layer overrides all layers below
    it, whatever their scopes."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    ADMIN = "admin"
    ARM = "arm"


@dataclass(frozen=True, slots=True)
class Problem:
    """An invalid setting: its name, and a sentence that explains the problem."""

    name: str
    sentence: str
    other: str = ""  # the second setting of a contradiction

    def concerns(self, name: str) -> bool:
        return name in (self.name, self.other)


@dataclass(frozen=True, slots=True)
class Setting:
    """A declaration. An integer needs a `range`; an Enum needs `choices`, a label for each of its values.

    A setting always has a value: None in a layer means that the layer does not set it. "No limit" is therefore a value
    of its own, such as 0.
    """

    name: str
    value_type: type[Value]
    default: Value
    help: str
    group: SettingGroup
    unit: str = ""
    range: tuple[int, int] | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""  # a regular expression for the whole text; "" allows any text
    item: str = ""  # a regular expression for each of the comma-separated names in the text
    example: str = ""  # a valid text, shown where the form of a text matters
    by_kind: Mapping[str, Value] = field(default_factory=dict)  # defaults that differ for a kind of operation
    if_empty: str = "–"  # shown where the value is the empty text
    aliases: tuple[str, ...] = ()  # other spellings that the file accepts, besides `name`
    one_operation_only: bool = False  # operations differ too much for one value; the environment cannot set it either
    whole_connectors_only: bool = False  # one query can join a connector's results, so they share one value

    def __post_init__(self) -> None:
        values = [each.value for each in self.value_type] if issubclass(self.value_type, Enum) else []
        if values != list(self.choices):
            raise TypeError(f"The setting {self.name} needs choices for the values {values}.")
        if (self.value_type is int) != (self.range is not None):
            raise TypeError(f"The setting {self.name} needs a range if it is a whole number, and only then.")
        for default in (self.default, *self.by_kind.values(), *([self.example] if self.example else [])):
            if not self.is_valid(default):
                raise TypeError(f"The setting {self.name} has the invalid default {default!r}.")

    @property
    def canonical_name(self) -> str:
        """The name in JSON, in files and on screens (ruling 22)."""
        first, *others = self.name.split("_")
        return first + "".join(map(str.capitalize, others))

    @property
    def spellings(self) -> tuple[str, ...]:
        """All names that a file may use, the canonical one first."""
        return tuple(dict.fromkeys((self.canonical_name, self.name, *self.aliases)))

    @property
    def variable(self) -> str | None:
        """The environment variable; None if the environment cannot set it."""
        return None if self.one_operation_only else self.name.upper()

    @property
    def is_for_trials(self) -> bool:
        """Whether rollouts and experiments can give some callers, or some operations, another value."""
        return not self.one_operation_only and not self.whole_connectors_only

    def misplaced(self, breadth: Breadth) -> str:
        """Why a budget of this breadth cannot have the setting; "" if it can."""
        if self.one_operation_only and breadth is not Breadth.OPERATION:
            return "each operation needs its own value. Set it for one operation."
        if self.whole_connectors_only and breadth in (Breadth.PATTERN, Breadth.OPERATION):
            return "one query can join the results of several operations. Set it for all of them or for a connector."
        return ""

    @property
    def expected(self) -> str:
        """The valid values, in words."""
        if self.range is not None:
            return f"{self.range[0]:,} to {self.range[1]:,} {self.unit}".rstrip()
        text = f"text such as `{self.example}`" if self.example else "text"
        return "on, off" if self.value_type is bool else ", ".join(self.choices) or text

    def meant(self, value: Any) -> Any:
        """The value that a document means: JSON and its schemas do not tell 9e3 from the whole number 9000."""
        is_whole = self.range is not None and isinstance(value, float) and value.is_integer()
        return int(value) if is_whole else value

    def problem(self, value: Any) -> Problem | None:
        """The reason why the value is invalid; None if it is valid."""
        if self.is_valid(value):
            return None
        if (wrong := self._wrong_item(value)) is not None:
            sentence = f"{self.canonical_name} has the name {_written(wrong)}, which no field can have."
            return Problem(self.name, f"{sentence} Write names such as {self.example}, with commas between them.")
        return Problem(self.name, f"{self.canonical_name} is {_written(value)}; it must be {self._requirement(value)}.")

    def is_valid(self, value: Any) -> bool:
        if self.range is not None:
            return type(value) is int and self.range[0] <= value <= self.range[1]
        if self.choices:
            return isinstance(value, str) and value in self.choices
        return isinstance(value, self.value_type) and self._has_form(value)

    def _has_form(self, value: Value) -> bool:
        if self._wrong_item(value) is not None:
            return False
        return not self.pattern or (isinstance(value, str) and re.fullmatch(self.pattern, value) is not None)

    def _wrong_item(self, value: Any) -> str | None:
        """The first name in the text that is not valid."""
        if not self.item or not isinstance(value, str) or not value:
            return None
        return next((each for each in map(str.strip, value.split(",")) if not re.fullmatch(self.item, each)), None)

    def _requirement(self, value: Any) -> str:
        if self.range is not None:
            kind = "" if type(value) is int else "a whole number "
            return f"{kind}from {self.range[0]:,} to {self.range[1]:,}"
        if self.choices:
            return f"one of: {', '.join(self.choices)}"
        if self.value_type is bool:
            return "true or false"
        return f"a text such as {self.example}" if self.example else "a text"

    def shown(self, value: Value) -> str:
        """The value formatted for display."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return f"{value:,}" if isinstance(value, int) else value or self.if_empty

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        described: dict[str, Any] = {"description": self.help}
        if self.range is not None:
            return {"type": "integer", "minimum": self.range[0], "maximum": self.range[1], **described}
        if self.choices:
            return {"type": "string", "enum": list(self.choices), **described}
        form: dict[str, Any] = {}
        if self.pattern:
            form = {"pattern": f"^({self.pattern})$"}
        elif self.item:
            form = {"pattern": rf"^(\s*({self.item})\s*(,\s*({self.item})\s*)*)?$"}
        form |= {"examples": [self.example]} if self.example else {}
        return {"type": "boolean" if self.value_type is bool else "string", **form, **described}


def _written(value: Any) -> str:
    text = f"{value:,}" if type(value) is int else repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def setting(default: Value, **declared: Any) -> Any:
    """Declares a field of the policy. `declared`: the attributes of its Setting except name, type and default."""
    return field(default=default, metadata={"default": default, **declared})


def settings_of(policy: type[Any]) -> Mapping[str, Setting]:
    """The settings that a dataclass declares with `setting`, by name. Raises TypeError if one is incomplete, or if two
    share a name."""
    types, declared = get_type_hints(policy), {each.name: each.metadata for each in fields(policy)}
    for name, metadata in declared.items():
        lacking = [each for each in ("default", "help", "group") if each not in metadata]
        if lacking:
            raise TypeError(f"The setting {name} is declared without {', '.join(lacking)}.")
    found = {name: Setting(name=name, value_type=types[name], **metadata) for name, metadata in declared.items()}
    spellings = Counter(spelling for each in found.values() for spelling in each.spellings)
    twice = sorted(spelling for spelling, times in spellings.items() if times > 1)
    if twice:
        raise TypeError(f"Two settings have the same name or alias: {', '.join(twice)}.")
    return found
