"""Settings in the query string of a link, which fill in a form."""

from collections.abc import Collection, Mapping
from typing import Any

from context_protection.core.policy import SETTINGS

SWITCHES = {"True": True, "False": False}  # as an address writes them
MOST_DIGITS = 12  # of a number that can be valid


def proposed(query: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The valid values of the query, by the names of the settings. `names`: those that the form has."""
    given = {name: _read(name, str(text)) for name, text in query.items() if name in names}
    return {name: value for name, value in given.items() if SETTINGS[name].is_valid(value)}


def _read(name: str, text: str) -> Any:
    if SETTINGS[name].value_type is bool:
        return SWITCHES.get(text, text)
    is_number = SETTINGS[name].value_type is int and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_number else text
