"""What of Hostaway's objects never leaves: door codes, cards, wifi, and keys to a guest's own pages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_protection.shapes import NOTHING, Shape

SECRETS = (
    "*doorCode*",
    "*door_code*",
    "doorSecurityCode",
    "*accessCode*",
    "*lockCode*",
    "*wifi*user*",
    "*wifi*pass*",
    "*password*",
    "cc[NE]*",
    "ccName",
    "cvc",
    "cvv",
    "cardNumber*",
    "guestPortal*Url",
    "guestAuthHash",
    "stripe*",
    "braintree*",
    "hostProxyEmail",
)
# A custom field's name is the account's own words, and its value stands beside it.
CUSTOM = "customfield"
NAMED = ("name", "title", "label", "key", "varName")
VALUED = ("value", "values", "text")
SECRET_WORDS = re.compile(
    r"wi-?\s?fi|wlan|(?<!out)(?<!in)door|gate\b|\block|key\s?pad|key\s?box|alarm"
    r"|pass\s?word|pass\s?code|\bpin\b|code\b|secret",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class HostawayShape(Shape):
    """As Shape; of custom fields whose name speaks of wifi, a door, a code or a password, or that have none, the
    value is withheld."""

    def without_withheld(self, record: dict[str, Any], *, in_list: bool = False) -> tuple[dict[str, Any], list[str]]:
        kept, removed = super().without_withheld(record, in_list=in_list)
        named: list[str] = []
        kept = _outside(kept, "", named)
        return (kept, [*removed, *dict.fromkeys(named)]) if named else (kept, removed)


def _outside(value: Any, path: str, removed: list[str]) -> Any:
    """`value`, which is the same where nothing in it is withheld: only what holds something is looked into."""
    if isinstance(value, list):
        kept = [_outside(each, f"{path}*.", removed) if _is_nested(each) else each for each in value]
        return kept if any(new is not old for new, old in zip(kept, value, strict=True)) else value
    changed = {}
    for name, below in value.items():
        if below and _is_nested(below):
            inside = _inside if CUSTOM in name.lower().replace("_", "") else _outside
            new = inside(below, f"{path}{name}.", removed)
            if new is not below:
                changed[name] = new
    return {**value, **changed} if changed else value


def _inside(value: Any, path: str, removed: list[str]) -> Any:
    """As it may leave, of what stands under custom fields."""
    if isinstance(value, list):
        return [_inside(each, f"{path}*.", removed) for each in value]
    if not isinstance(value, dict):
        return value
    kept, is_secret = {}, _is_secret(value)
    for name, below in value.items():
        if below not in NOTHING and ((is_secret and name in VALUED) or _pairs_secretly(name, below)):
            removed.append(f"{path}{name}")
        else:
            kept[name] = _inside(below, f"{path}{name}.", removed)
    return kept


def _is_nested(value: Any) -> bool:
    return isinstance(value, (dict, list))


def _is_secret(pair: Mapping[str, Any]) -> bool:
    """Whether a custom field, or the definition that stands in it, has a name that says so; or none, so that nobody
    can tell what it is."""
    definitions = [pair, *(each for name, each in pair.items() if CUSTOM in name.lower() and isinstance(each, dict))]
    names = [each[name] for each in definitions for name in NAMED if isinstance(each.get(name), str)]
    return not names or any(SECRET_WORDS.search(name) for name in names)


def _pairs_secretly(name: str, value: Any) -> bool:
    """Of custom fields that upstream gives as an object, by their names."""
    return not _is_nested(value) and name not in NAMED and SECRET_WORDS.search(name) is not None
