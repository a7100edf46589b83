"""A code that stands before its name: "4711 is the gate code", "enter 4711 on the keypad"."""

import re

from context_protection.redaction import codes, phrases, terms
from context_protection.redaction.terms import Term

_BACK = 100  # characters before a name
_NUMBER = r"(?<![\w.,/:€$£#*+-])(?P<value>[#*]{0,2}\d(?:[ -]?\d){2,9}[#*]{0,2})(?![\w*#]|[.,:/]\d)"
_VALUE = rf"""(?:{_NUMBER}|["'](?P<quoted>[^"'\n]{{3,64}})["'])"""
_ARTICLES = rf"(?:(?:{phrases.ARTICLES})[ ']?(?<=[ ']))"
_IS_THE = re.compile(rf"{_VALUE} ?(?:{phrases.IS})\s{{1,2}}{_ARTICLES}{{0,2}}$")
_OPENS_THE = re.compile(rf"{_NUMBER} (?:{phrases.OPENING})(?: sich)?\s{_ARTICLES}{{0,2}}$")
_ENTERED_AT = re.compile(
    rf"(?<![a-z])(?:{phrases.ENTERING}) (?:(?:{phrases.ARTICLES}|den|code|pin|codigo|codice) ){{0,3}}[\"']?{_NUMBER}"
    rf"[\"']?,? (?:[a-z']+,? ){{0,8}}$"
)
_ON_THE_KEYPAD = re.compile(rf"{_NUMBER} (?:{phrases.TO_A_KEYPAD}) (?:{_ARTICLES}|dem |der )?$")


def values_before(low: str, term: Term) -> list[tuple[int, int]]:
    """Where the code stands that this name is said of, if it stands before it."""
    start = max(0, term.start - _BACK)
    before = low[start : term.start]
    for pattern in _patterns(low, term):
        found = pattern.search(before)
        if found is None:
            continue
        group = "value" if found["value"] else "quoted"
        at, end = start + found.start(group), start + found.end(group)
        if codes.is_numbered_or_priced(low[max(0, at - 30) : at]) or _is_counted(low, at, end):
            continue
        if codes.is_direct_value(low, at, end):
            return [(at, end)]
    return []


def _patterns(low: str, term: Term) -> list[re.Pattern[str]]:
    if term.strength == "secret":
        return [_IS_THE, _ENTERED_AT]
    if term.strength != "place" or not terms.may_open_with_a_code(term):
        return []
    if term.kind == "keypad code":
        return [_ENTERED_AT, _ON_THE_KEYPAD]
    return [_OPENS_THE, _ENTERED_AT]


def _is_counted(low: str, at: int, end: int) -> bool:
    opening = re.match(rf" (?:{phrases.OPENING}|{phrases.IS}|{phrases.TO_A_KEYPAD})(?![a-z])", low[end : end + 20])
    return opening is None and codes.is_number(low, at, end) and codes.is_count(low, end)


_ENTERED_AFTER = re.compile(
    rf"[^.!?\n;:0-9]{{0,40}}(?<![a-z])(?:{phrases.ENTERING}) "
    rf"(?:(?:{phrases.ARTICLES}|den|code|pin|codigo|codice) ){{0,3}}[\"']?{_NUMBER}"
)


def value_entered_after(low: str, term: Term) -> list[tuple[int, int]]:
    """To open the door, enter 4711."""
    found = _ENTERED_AFTER.match(low, term.end, term.end + _BACK)
    if found is None or _is_counted(low, *found.span("value")):
        return []
    return [found.span("value")] if codes.is_direct_value(low, *found.span("value")) else []
