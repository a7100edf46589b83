"""Redacts codes and passwords in texts: sentences, `key: value` lines, Markdown, HTML, JSON inside a text."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, compress
from operator import not_

from context_protection.core.redaction import codes, phrases, terms
from context_protection.core.redaction.candidates import Candidates
from context_protection.core.redaction.findings import mark
from context_protection.core.redaction.folding import cases_in, composed, fold_keeping_length, spaced
from context_protection.core.redaction.terms import Term
from context_protection.core.redaction.values_after import ASSIGNS, MAX_REACH, OPENS, OTHER_WORD, Value, values_after
from context_protection.core.redaction.values_before import (
    may_have_far_value,
    value_entered_after,
    value_later_in_clause,
    values_before,
)
from context_protection.core.redaction.vocabulary import ABOUT, OTHER_CODES

PLACE_REACH = 160  # characters around a bare "code" within which a place must be named
REPETITION_REACH = 2000  # characters around a redacted value within which its repetitions are redacted too
# A caller that redacts a text in parts passes each part with this many characters of the text on either side.
REACH = REPETITION_REACH + MAX_REACH + 400

DIGIT_OR_QUOTE = re.compile(r"""[0-9"'`„“”‟«»‘’‚‛‹›´０-９]""")
_LETTERS_BEFORE = 80  # the longest first word of a camel case name
_CASE_CHANGE = b"aA"
_CAMEL_CASE = re.compile(f"[A-Za-z0-9]{{0,{_LETTERS_BEFORE}}}[a-z0-9][A-Z][A-Za-z0-9_-]{{0,80}}")
# How far from a name its value may be.
_BEFORE_NAME, _BEHIND_NAME = 130, 210  # characters
_BEHIND_HALF_NAME = 80  # the same after half of a name, "door" or "code" alone

_STEPS = ("/", "\\", ".")  # between the steps of a path
_HALF_NAMES = frozenset({"half_place", "half_network", "half_code"})
_SEPARATED = re.compile(rf"[:=|>]|(?<![a-z])(?:{OPENS})(?![a-z])|</t[dh]>|\n")
_OPENED = re.compile(rf"(?<![a-z]){OPENS}(?![a-z])")
_ANYTHING = re.compile("")
_CODE_BEFORE = re.compile(phrases.CODE_BEFORE)
_BEFORE_DIGIT = 2000  # characters of a token before its first digit
_AUTHORIZATION = re.compile(
    r"(?<![a-z])(?:authori[sz]ation[\"']?[ ]?[:=][ ]?[\"']?(?:[a-z]{3,12}[ ])?|bearer[ ])"
    rf"(?P<value>(?=[^\s\d]{{0,{_BEFORE_DIGIT}}}\d)[a-z0-9._~+/=-]{{6,}})"
)
_IN_HEADERS = ("authorization", "authorisation", "bearer")
_HEADER = re.compile("|".join(_IN_HEADERS))
_LIST_OF_CODES = re.compile(
    rf"(?<![a-z])(?:(?P<of>[a-z]+)[ _'-]{{1,2}})?(?:{phrases.CODE_NAMES})(?![a-z])"
    rf"(?: ?[:=-]| (?:{phrases.COPULA})(?![a-z]))"
    rf"(?P<rest>[^.!?\n]{{0,120}})$"
)
_BETWEEN_LISTED = re.compile(rf"[,;:/|(+&]|\b(?:{phrases.AND})\b")
_YEAR = re.compile(r"(?:1[89]|20)\d\d\b")
_ATTACHED = re.compile(r"[A-Za-z_-]{2,40}")
_SEGMENT = re.compile(r"[^.,;:|>\n(*\"\[]*")  # a segment of a reversed text
_PREVIOUS = re.compile(r"([a-z]+)[ _'-]{1,2}$")
_NAME_AND_PASSWORD = re.compile(
    r"(?: ?\([^()\n]{1,40}\))?[ ]?[:=-][ ]?([^\n/|:=]{1,40}?)[ ]?[/|][ ]?"
    rf"(?:(?:{phrases.PASSWORDS})[ ]?[:=][ ]?)?(?=[^\s/|])"
)

# JSON inside a text is often escaped, also several times: {\"pin\":4711}.
_ESCAPED_QUOTE = re.compile(r'(?<!\\)\\+"')
_ESCAPED_KEY = re.compile(r'\w\\+"[ ]?:')
# A redacted number in JSON text becomes a string, so that the text stays valid JSON.
_AFTER_JSON_KEY = re.compile(r'(\\{0,15}"):[ ]?$')
_BEFORE_JSON_VALUE = 20  # characters, as many as _AFTER_JSON_KEY matches
_END_OF_JSON = re.compile(r"(?:\s|\\+[nrt])*[,}\]]")

Span = tuple[int, int, str]  # start, end, kind


def redact_text(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with `[withheld: door code]` in place of each secret, and the kinds redacted, in order. Returns the same
    object if nothing is found.

    The result at a place depends on at most REACH characters on each side. A caller that holds only parts of a text
    passes each part with that overlap, cut at the ends of lines, and drops the overlap from the result.
    """
    kinds: list[str] = []
    for _ in range(4):  # redacting one value may bring another into reach; usually one round is enough
        spans = _spans(text)
        if not spans:
            break
        text = _masked(composed(text), spans)
        kinds += [kind for _, _, kind in spans]
    return text, tuple(kinds)


def indexes_with_terms(texts: Sequence[str]) -> set[int]:
    """The indexes of the texts in which redact_text may find something: those with a term, alone or in a camel case
    name, or with the name of a header. One search of all texts takes a fraction of the time. Those in ASCII are
    searched apart from the others, which take longer."""
    are_ascii = list(map(str.isascii, texts))
    found: set[int] = set()
    for each_is_chosen in (are_ascii, list(map(not_, are_ascii))):
        chosen = list(compress(texts, each_is_chosen))
        if chosen and (indexes := _indexes_with_terms(chosen)):
            places = list(compress(range(len(texts)), each_is_chosen))
            found.update(map(places.__getitem__, indexes))
    return found


def _indexes_with_terms(texts: Sequence[str]) -> set[int]:
    """Searches the lines of all texts at once. No term goes beyond the end of a line."""
    joined = "\n".join(texts)
    if composed(joined) is not joined:  # each text alone, because others may change as well, and have another length
        texts = list(map(composed, texts))
        joined = "\n".join(texts)
    ends = list(accumulate(map((1).__add__, map(len, texts))))
    low = fold_keeping_length(joined)
    found = {bisect_right(ends, each.start()) for each in terms.in_words(low) if not _is_in_path(low, *each.span())}
    found.update(bisect_right(ends, start) for start in _names_with_terms(joined, low))
    if any(map(low.__contains__, _IN_HEADERS)):
        found.update(bisect_right(ends, each.start()) for each in _HEADER.finditer(low))
    return found


def _names_with_terms(text: str, low: str) -> Iterator[int]:
    """Where the camel case names with a term start."""
    names = list(_names_in_camel_case(text))
    ends = list(accumulate(1 + end - start for start, end in names))
    joined = "\n".join(low[start:end] for start, end in names)
    return (names[bisect_right(ends, match.start())][0] for match in terms.IN_CAMEL_CASE.finditer(joined))


def _spans(text: str) -> list[Span]:
    if DIGIT_OR_QUOTE.search(text) is None:
        return []
    text = composed(text)
    low = _without_escapes(fold_keeping_length(text))
    found: dict[tuple[int, int], str] = {}
    candidates = Candidates(low)
    for term in _terms(text, low, candidates):
        for values in _values_of(low, candidates, term):
            for value in values:
                if value in found:
                    break  # the values after it were found with it
                found[value] = term.kind
    if any(map(low.__contains__, _IN_HEADERS)):
        found |= {header.span("value"): "token" for header in _AUTHORIZATION.finditer(low)}
    spans = [(start, end, kind) for (start, end), kind in found.items()]
    return _merged(spans + _repeated(low, spans)) if spans else []


def _without_escapes(low: str) -> str:
    """The text, if it has escaped JSON, with quotes in place of the backslashes that escape a quote. The length stays
    the same. In other JSON, an escaped quote is a part of a value."""
    if '\\"' not in low or _ESCAPED_KEY.search(low) is None:
        return low
    return _ESCAPED_QUOTE.sub(lambda escaped: '"' * len(escaped[0]), low)


def _terms(text: str, low: str, candidates: Candidates) -> Iterator[Term]:
    """The terms in the text: those that are words, and those inside camel case names."""
    for match in terms.in_words(low):
        start, end = match.span()
        if not candidates.are_between(start - _BEFORE_NAME, end + _BEHIND_NAME):
            continue
        if match.lastgroup in _HALF_NAMES and not _may_have_a_value(low, candidates, match):
            continue
        if (term := terms.term_of(match)) and not _is_part_of_another_name(text, low, term):
            yield term
    for start, end in _names_in_camel_case(text):
        if candidates.are_between(start - _BEFORE_NAME, end + _BEHIND_NAME):
            yield from _terms_in_camel_case(text, low, start, end)


def _may_have_a_value(low: str, candidates: Candidates, match: re.Match[str]) -> bool:
    """A cheap test whether the text around half of a name ("door" or "code" alone) may contain a code."""
    start, end = match.span()
    if not terms.may_have_a_code(match.lastgroup, match[0]):
        return match.lastgroup == "half_place" and _is_listed(low, start)
    is_network = match.lastgroup == "half_network"
    if candidates.are_between(end, end + (_BEHIND_NAME if is_network else _BEHIND_HALF_NAME)) and not OTHER_WORD.match(
        low, end
    ):
        return True
    return not is_network and may_have_far_value(low, candidates, start, end)


def _names_in_camel_case(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the names: like _CAMEL_CASE.finditer, but faster, because that would try every letter of the
    text."""
    cases = cases_in(text)
    at = 0
    while (change := cases.find(_CASE_CHANGE, at)) >= 0:
        earliest = max(at, change - _LETTERS_BEFORE)
        start = max(earliest, cases.rfind(b" ", earliest, change) + 1)
        name = _CAMEL_CASE.match(text, start)
        assert name is not None, "a change of case is part of a name"
        at = name.end()
        yield name.span()


def _terms_in_camel_case(text: str, low: str, at: int, end: int) -> Iterator[Term]:
    while match := terms.IN_CAMEL_CASE.search(low, at, end):
        at = match.end()
        if not _is_whole(text, match.start(), match.end()):
            at = match.start() + 1
        elif (term := terms.term_of(match)) and not _is_part_of_another_name(text, low, term):
            yield term


def _is_part_of_another_name(text: str, low: str, term: Term) -> bool:
    """Whether the term is part of a path, or of a longer name such as `passwordField` or `pin-priority`."""
    attached = _ATTACHED.match(text, term.end)
    words = spaced(attached[0]).split() if attached else []
    return _is_in_path(low, term.start, term.end) or not ABOUT.isdisjoint(words)


def _is_in_path(low: str, start: int, end: int) -> bool:
    """Whether `low[start:end]` is a whole step of a path, such as the host or a folder of a link."""
    return low[start - 1 : start] in _STEPS and low[end : end + 1] in _STEPS


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` begins and ends at the edges of words, or of the parts of a camel case name."""
    before, behind = text[start - 1 : start], text[end : end + 1]
    begins = not before.isalnum() or (text[start].isupper() and not before.isupper())
    ends = not behind.isalpha() or (behind.isupper() and not text[end - 1].isupper())
    return begins and ends


def _values_of(low: str, candidates: Candidates, term: Term) -> Iterator[Iterable[Value]]:
    """The values before a term and those after it, as one series for each rule that applies."""
    if _names_another_code(low, term):
        return
    yield values_before(low, candidates, term)
    if term.strength == "secret":
        values = values_after(low, candidates, term.end, loose=True)
        if term.kind == "PIN":
            values = _numbers_or_assigned(low, term.end, values)
        yield _without_years(low, values) if term.kind == "building code" else values
    elif term.strength == "code":
        both = (
            [*_codes(low, values_after(low, candidates, term.end, loose=False))],
            value_later_in_clause(low, candidates, term),
        )
        if any(both) and _is_bare(low, term.start) and _has_place_near(low, term):
            yield from both
    elif term.strength == "place" and _is_listed(low, term.start):
        yield _listed_codes(low, values_after(low, candidates, term.end, loose=False))
    elif term.strength == "place" and terms.may_open_with_a_code(term):
        yield value_entered_after(low, candidates, term)
        if terms.opens_with_a_code(term, low[term.start : term.end]) and not OTHER_WORD.match(low, term.end):
            values = values_after(low, candidates, term.end, loose=False, required=_separator(low, term))
            yield (_codes if term.kind == "keypad code" else _numbers)(low, values)
    elif terms.opens_with_a_code(term, low[term.start : term.end]):
        yield _after_network(low, candidates, term.end)


def _codes(low: str, values: Iterator[Value]) -> Iterator[Value]:
    """The values that are mixed codes, or numbers other than counts."""
    for start, end in values:
        if codes.is_mixed(low[start:end]) or (codes.is_number(low, start, end) and not codes.is_count(low, end)):
            yield start, end


def _listed_codes(low: str, values: Iterator[Value]) -> Iterator[Value]:
    """The values that are codes in a list such as "Codes: door X1234, gate Y99"."""
    for value in values:
        is_number = codes.is_number(low, *value) and not codes.is_count(low, value[1])
        value_text = low[slice(*value)]
        if is_number or codes.is_mixed(value_text) or codes.is_short_mixed(value_text):
            yield value


def _is_listed(low: str, start: int) -> bool:
    """Whether the place at `start` is an entry in a list of codes."""
    before = low[max(0, start - 160) : start]
    if not any(part in before for part in phrases.CODE_PARTS):
        return False
    found = _LIST_OF_CODES.search(before)
    if found is None or found["of"] in OTHER_CODES:
        return False
    words = _BETWEEN_LISTED.split(found["rest"])[-1].split()
    return len(words) <= 2 and phrases.PREPOSITIONS.isdisjoint(words)


def _numbers_or_assigned(low: str, at: int, values: Iterator[Value]) -> Iterator[Value]:
    """The values after "pin" that are numbers, or follow a colon or "is". "Pin" is also a verb, so other words do not
    count as values."""
    return (value for value in values if codes.is_number(low, *value) or ASSIGNS.search(low, at, value[0]))


def _without_years(low: str, values: Iterator[Value]) -> Iterator[Value]:
    """The values without years after "building code": the International Building Code 2021 is not a secret."""
    return (value for value in values if not (_YEAR.match(low, value[0]) and low[value[0] - 1] == " "))


def _separator(low: str, place: Term) -> re.Pattern[str]:
    """The pattern that must match between a place and its code."""
    before = low[max(0, place.start - 80) : place.start]
    if place.kind in ("lockbox code", "keypad code") or _mentions_code(before):
        return _ANYTHING
    segment = _SEGMENT.match(before[::-1])
    words = segment[0][::-1].split() if segment else []
    return _SEPARATED if len(words) <= 3 and phrases.PREPOSITIONS.isdisjoint(words) else _OPENED


def _mentions_code(before: str) -> bool:
    return any(part in before for part in phrases.CODE_PARTS) and _CODE_BEFORE.search(before) is not None


def _names_another_code(low: str, term: Term) -> bool:
    """Whether the term is another kind of code: a booking code, a discount code for the garage, a code of conduct."""
    if low.startswith(phrases.NOT_A_CODE, term.end):
        return True
    if not term.starts_with_code:
        return False
    previous = _PREVIOUS.search(low, max(0, term.start - 30), term.start)
    return previous is not None and previous[1] in OTHER_CODES


def _is_bare(low: str, start: int) -> bool:
    previous = _PREVIOUS.search(low, max(0, start - 30), start)
    return previous is None or previous[1] in phrases.DETERMINERS


def _has_place_near(low: str, term: Term) -> bool:
    around = terms.in_words(low, max(0, term.start - PLACE_REACH), min(len(low), term.end + PLACE_REACH // 2))
    places = (each for each in map(terms.term_of, around) if each and each.strength == "place")
    return any(map(terms.may_open_with_a_code, places))


def _numbers(low: str, values: Iterator[Value]) -> Iterator[Value]:
    for start, end in values:
        if codes.is_number(low, start, end) and not codes.is_count(low, end):
            yield start, end


def _after_network(low: str, candidates: Candidates, at: int) -> Iterator[Value]:
    """The password in "Wi-Fi: NAME / PASSWORD" or "Wi-Fi: PASSWORD"."""
    if pair := _NAME_AND_PASSWORD.match(low, at):
        value = codes.value_at(low, pair.end(), direct=True)
        if value and codes.is_direct_value(low, *value):
            yield value
            return
    for start, end in values_after(low, candidates, at, loose=False, required=_SEPARATED):
        if not codes.is_count(low, end):
            yield start, end


def _repeated(low: str, found: list[Span]) -> list[Span]:
    """Repetitions of the found values, near them. Values of fewer than four characters, and those that look like a
    year, are not searched for."""
    places: dict[str, list[Span]] = {}
    for span in sorted(set(found)):
        value = low[span[0] : span[1]]
        if len(value) >= 4 and not codes.is_year(value):
            places.setdefault(value, []).append(span)
    return [again for value, spans in places.items() for again in _near(low, value, spans)]


def _near(low: str, value: str, spans: list[Span]) -> Iterator[Span]:
    """Each place near `spans` where `value` occurs as a whole word."""
    at = 0
    for start, end, kind in spans:
        at = max(at, start - REPETITION_REACH)
        while (at := low.find(value, at, end + REPETITION_REACH)) >= 0:
            behind = at + len(value)
            is_named = codes.has_digit(value) or codes.in_quotes(low, at, behind)
            if is_named and not low[at - 1 : at].isalnum() and not low[behind : behind + 1].isalnum():
                yield at, behind, kind
            at = behind
        at = end + REPETITION_REACH - len(value)


def _merged(spans: list[Span]) -> list[Span]:
    """The spans in order, overlapping ones merged; a merged span has the kind of the first."""
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not merged or start >= merged[-1][1]:
            merged.append((start, end, kind))
        elif end > merged[-1][1]:
            merged[-1] = (merged[-1][0], end, merged[-1][2])
    return merged


def _masked(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, kind in spans:
        key = _AFTER_JSON_KEY.search(text, max(0, start - _BEFORE_JSON_VALUE), start)
        quote = key[1] if key and _END_OF_JSON.match(text, end) else ""
        pieces += [text[at:start], quote, mark(kind), quote]
        at = end
    return "".join([*pieces, text[at:]])
