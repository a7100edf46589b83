"""Finds codes in sentences where the name is not a label: "4711 is the gate code", "the safe opens with 4711"."""

import re
from collections.abc import Iterator

from context_protection.core.redaction import codes, phrases, terms
from context_protection.core.redaction.candidates import Candidates
from context_protection.core.redaction.findings import MARK
from context_protection.core.redaction.terms import Term
from context_protection.core.redaction.vocabulary import OTHER_CODES

_REACH = 100  # characters before and after a name that are searched
_NUMBER = r"(?<![\w.,/:€$£#*+-])(?P<value>[#*]{0,2}\d(?:[ -]?\d){2,9}[#*]{0,2})(?![\w*#]|[.,:/]\d)"
_MIXED = r"(?<![\w./-])(?=[a-z#*-]*\d)(?=[\d#*-]*[a-z])(?P<mixed>[a-z\d][a-z\d#*-]{3,15})(?![\w*#])"
_VALUE = rf"""(?:{_NUMBER}|{_MIXED}|["'](?P<quoted>[^"'\n]{{3,64}})(?:"|'(?![a-z0-9])))"""
_ARTICLES = rf"(?:(?:{phrases.ARTICLES})[ ']?(?<=[ ']))"
_IS_THE = re.compile(rf"{_VALUE} ?,? {{0,2}}(?:{phrases.IS})(?: (?:{phrases.STILL}))?\s{{1,2}}{_ARTICLES}{{0,2}}$")
_IT_IS_FOR = re.compile(rf"(?<![a-z])(?:{phrases.IT_IS}) {{1,2}}{_VALUE} {{1,2}}(?:{phrases.FOR}) {_ARTICLES}{{0,2}}$")
_OPENS_THE = re.compile(
    rf"{_VALUE} ?(?: (?:{phrases.SUBJECTS})){{0,3}} (?:{phrases.OPENING})(?: sich)?(?: (?:{phrases.SUBJECTS}))?"
    rf"\s{_ARTICLES}{{0,2}}$"
)
_ENTERED_AT = re.compile(
    rf"(?<![a-z])(?:{phrases.ENTERING}) (?:(?:{phrases.ARTICLES}|den|code|pin|codigo|codice) ){{0,3}}[\"']?"
    rf"(?:{_NUMBER}|{_MIXED})"
    rf"[\"']?,? (?:[a-z']+,? ){{0,8}}$"
)
# Cheap tests that rule out the patterns above: each pattern needs some of these words.
_LONGEST_LEAD = 60  # characters before a name that are searched for "is" and its synonyms
_LONGEST_NUMBER = 30  # characters
_IS_BEFORE = re.compile(rf"(?:{phrases.IS})(?: (?:{phrases.STILL}))?\s{{1,2}}{_ARTICLES}{{0,2}}$")
_LETTERS = re.compile("[a-z]+")


def _first_words(alternatives: str) -> frozenset[str]:
    return frozenset(_LETTERS.findall(each)[0] for each in alternatives.split("|"))


_IT_IS_WORDS, _ENTERING_WORDS = _first_words(phrases.IT_IS), _first_words(phrases.ENTERING)
_OPENING_WORDS = frozenset(each.replace("?", "") for each in phrases.OPENING.split("|")) | {"open", "unlock"}
_ON_THE_KEYPAD = re.compile(rf"{_NUMBER} (?:{phrases.TO_A_KEYPAD}) (?:{_ARTICLES}|dem |der )?$")


# Matches reversed text: only these characters may stand between a value and its name.
_DIGIT_OR_QUOTE_BEFORE = re.compile(r"""[a-z,=\s#*-]*[0-9"']""")


def may_have_far_value(low: str, candidates: Candidates, start: int, end: int) -> bool:
    """A cheap test. If False, the text around the name from `start` to `end` does not contain its code."""
    return candidates.are_in_sentence(end, end + _REACH) or _may_be_before(low, candidates, start)


def _may_be_before(low: str, candidates: Candidates, start: int) -> bool:
    if not candidates.are_between(start - _REACH - _LONGEST_NUMBER, start):
        return False
    return _DIGIT_OR_QUOTE_BEFORE.match(low[max(0, start - _REACH) : start][::-1]) is not None


def values_before(low: str, candidates: Candidates, term: Term) -> list[tuple[int, int]]:
    """The span of the code before the term, as in "4711 is the gate code"; empty if there is none."""
    if term.strength not in ("secret", "place") or not _may_be_before(low, candidates, term.start):
        return []
    start = max(0, term.start - _REACH)
    before = low[start : term.start]
    for pattern in _patterns(before, term):
        found = pattern.search(before)
        if found is None:
            continue
        at, end = (start + offset for offset in _span_of_value(found))
        if MARK.match(low, at):
            continue  # redacted already
        if codes.is_numbered_or_priced(low[max(0, at - 30) : at]) or _is_counted(low, at, end):
            continue
        if codes.is_direct_value(low, at, end):
            return [(at, end)]
    return []


def _span_of_value(found: re.Match[str]) -> tuple[int, int]:
    groups = found.groupdict()
    return next(found.span(group) for group in ("value", "mixed", "quoted") if groups.get(group))


def _patterns(before: str, term: Term) -> Iterator[re.Pattern[str]]:
    """The patterns worth trying: those whose required words stand before the name."""
    words = _LETTERS.findall(before)
    if term.strength == "secret":
        if _IS_BEFORE.search(before, len(before) - _LONGEST_LEAD if len(before) > _LONGEST_LEAD else 0):
            yield _IS_THE
        if not _IT_IS_WORDS.isdisjoint(words):
            yield _IT_IS_FOR
    elif not terms.may_open_with_a_code(term):
        return
    elif term.kind != "keypad code" and not _OPENING_WORDS.isdisjoint(words):
        yield _OPENS_THE
    if not _ENTERING_WORDS.isdisjoint(words):
        yield _ENTERED_AT
    if term.strength == "place" and term.kind == "keypad code":
        yield _ON_THE_KEYPAD


def _is_counted(low: str, at: int, end: int) -> bool:
    opening = re.match(rf" (?:{phrases.OPENING}|{phrases.IS}|{phrases.TO_A_KEYPAD})(?![a-z])", low[end : end + 20])
    return opening is None and codes.is_number(low, at, end) and codes.is_count(low, end)


_ENTERED_AFTER = re.compile(
    rf"[^.!?\n;]{{0,40}}?(?<![a-z])(?:{phrases.ENTERING}|(?:{phrases.OPENS})(?: sich)? (?:{phrases.WITH})) "
    rf"(?:(?:{phrases.ARTICLES}|den|dem|code|pin|codigo|codice) ){{0,3}}[\"']?(?:{_NUMBER}|{_MIXED})"
)


def value_entered_after(low: str, candidates: Candidates, term: Term) -> list[tuple[int, int]]:
    """The span of the code in "To open the door, enter 4711" or "The safe in the bedroom opens with 4711"."""
    end_of_reach = term.end + _REACH
    if not candidates.are_in_sentence(term.end, end_of_reach):
        return []
    found = _ENTERED_AFTER.match(low, term.end, end_of_reach) or _ENTERED_HERE.match(low, term.end, end_of_reach)
    if found is None:
        return []
    at, end = _span_of_value(found)
    is_counted = found.re is _ENTERED_AFTER and _is_counted(low, at, end)
    return [(at, end)] if not is_counted and codes.is_direct_value(low, at, end) else []


_ENTERED_HERE = re.compile(rf" (?:{phrases.ARTICLES} |den |die )?{_NUMBER} (?:{phrases.ENTERED})(?![a-z])")
_IS_LATER = re.compile(rf"[^.!?\n;:0-9]{{1,38}}(?<![a-z'])(?:{phrases.IS}) (?:{phrases.ARTICLES} )?{_NUMBER}")


def value_later_in_clause(low: str, candidates: Candidates, term: Term) -> list[tuple[int, int]]:
    """The span of the code in "Smart lock: the code, followed by the tick, is 4711"."""
    if not candidates.are_in_sentence(term.end, term.end + _REACH):
        return []
    found = _IS_LATER.match(low, term.end, term.end + _REACH)
    if found is None or not OTHER_CODES.isdisjoint(re.findall("[a-z]+", low[term.end : found.start("value")])):
        return []
    at, end = found.span("value")
    return [(at, end)] if codes.is_direct_value(low, at, end) and not codes.is_count(low, end) else []
