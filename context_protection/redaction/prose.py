"""Codes and passwords in texts: sentences, `key: value` lines, Markdown, HTML, JSON inside of texts."""

import re
from collections.abc import Iterable, Iterator

from context_protection.redaction import codes, phrases, terms
from context_protection.redaction.findings import mark
from context_protection.redaction.folding import composed, folded, spaced
from context_protection.redaction.preceding import (
    may_have_far_value,
    value_entered_after,
    value_said_later,
    values_before,
)
from context_protection.redaction.terms import Term
from context_protection.redaction.vocabulary import ABOUT, OTHER_CODES

AWAY = 40  # characters between a name and its value
SEVERAL = 12  # values after one name
CONTEXT = 160  # characters around a bare "code" in which the word for its place is looked for
NEAR = 2000  # characters around a value in which it is masked again
# A caller that holds parts of a text gives each with this many characters of the text before and behind it.
REACH = NEAR + 400

_DIGIT_OR_QUOTE = re.compile(r"""[0-9"'`„“”‟«»‘’‚‛‹›´０-９]""")
_LETTERS_BEFORE = 80  # in a name in camel case, before the first capital inside
_HUMP = re.compile("[A-Z](?<=[a-z0-9][A-Z])")
_WORD_SO_FAR = re.compile(r"[A-Za-z0-9]*\Z")
_CAMEL_CASE = re.compile(f"[A-Za-z0-9]{{0,{_LETTERS_BEFORE}}}[a-z0-9][A-Z][A-Za-z0-9_-]{{0,80}}")
# What a value needs somewhere around a name: a digit or a quote, or what lets it stand far behind the name.
_BEFORE_NAME, _BEHIND_NAME = 110, 210  # characters
_NEAR_VALUE = re.compile("""[0-9"'<(&]""")

_COPULA = phrases.COPULA
_OPENS = rf"(?:{phrases.OPENS})(?: sich)? (?:{phrases.WITH})"
_JOINS = f"{_COPULA}|{phrases.WITH}|{_OPENS}|{phrases.FILLERS}".replace(" ", r"\ ")
_GLUE = re.compile(
    rf"""[ \t_]+ | \([^()\n0-9"]{{0,60}}\) | <[^<>\n]{{0,120}}> | &(?:nbsp|quot|\#\d{{2,5}}|[a-z]{{2,6}});
    | \*\*(?!\*) | [:=|>~*?/"'`(\[-]+
    | (?:{_JOINS}|nr\.?|no\.(?=\ )|num\.?)(?![a-z0-9'])
    """,
    re.VERBOSE,
)
# A word behind a name that neither leads to a value nor is one: most names in sentences are passed over by this.
_OTHER_WORD = re.compile(rf"[ \t]+(?![ \t])(?!(?:{_JOINS}|nr|no|num)(?![a-z0-9']))[a-z]+(?![a-z])[.,;:!?]?(?:\s|\Z)")
_HALF_NAMES = frozenset({"half_place", "half_network", "half_code"})
_SAYS_SO = re.compile(rf"[:=|>]|(?<![a-z])(?:{_COPULA}|{_OPENS})(?![a-z])|-(?=\s)|</t[dh]>|\n")
_SEPARATED = re.compile(rf"[:=|>]|(?<![a-z])(?:{_OPENS})(?![a-z])|</t[dh]>|\n")
_OPENED = re.compile(rf"(?<![a-z]){_OPENS}(?![a-z])")
_DIRECTLY = re.compile("")
_CODE_BEFORE = re.compile(phrases.CODE_BEFORE)
_QUOTED_NAME = re.compile(rf"""["'][^"'\n]{{1,40}}["'] (?=(?:{_COPULA}) |[:=])""")
_AUTHORIZATION = re.compile(
    r"(?<![a-z])(?:authori[sz]ation[\"']?[ ]?[:=][ ]?[\"']?(?:[a-z]{3,12}[ ])?|bearer[ ])"
    r"(?P<value>(?=[^\s]*\d)[a-z0-9._~+/=-]{6,})"
)
_IN_HEADERS = ("authorization", "authorisation", "bearer")
_LAW = re.compile(r"(?:1[89]|20)\d\d\b")
_ATTACHED = re.compile(r"[A-Za-z_-]{2,40}")
_SEGMENT = re.compile(r"[^.,;:|>\n(*\"\[]*$")
_NUMBERING = re.compile(r"(?:'s)?[ _]?\#?\d{1,2}(?=\s*[:=)])")
_LINE_BREAK = re.compile(r"[ \t]*\r?\n[ \t]*(?:\r?\n[ \t]*)?(?:[-*•>+][ \t]+|\d{1,2}[.)][ \t]+)?")
_ALONE = re.compile(r"[*_\"'`).,;! \t|]*(?:<[^<>\n]{0,40}>[ \t]*)*(?:\r?\n|$)")
_WORD = re.compile(r"[^\s]+")
_SENTENCE_END = re.compile(
    r"(?<!\b[dmh]r)(?<!\bms)(?<!\b[mf])(?<!\bfr)(?<!\bmme)(?<!\bmrs)(?<!\bs[rt])(?<!\bsra)(?<!\bsig)[.!?;](?=\s|$|<)"
)
_CONJUNCTION = r"\b(?:or|and|then|oder|und|ou|et|y|o|e|ed)\b"
_AND = re.compile(
    rf"(?:\s*\([^()\n]{{0,24}}\))?"
    rf"(?:[*_\"'` ]{{0,3}}(?:[,;/|+&]|{_CONJUNCTION})[ ]{{0,2}}|[ \t]*\r?\n[ \t]*(?:[-*•][ \t]+)?){{1,2}}"
    rf"(?:[a-z]{{2,14}}[ :]{{1,2}}){{0,2}}[*_\"'`#]{{0,2}}(?=[\d#*\"'a-z\[])"
)
_PREVIOUS = re.compile(r"([a-z]+)[ _'-]{1,2}$")
_NAME_AND_PASSWORD = re.compile(
    r"(?: ?\([^()\n]{1,40}\))?[ ]?[:=-][ ]?([^\n/|:=]{1,40}?)[ ]?[/|][ ]?"
    rf"(?:(?:{phrases.PASSWORDS})[ ]?[:=][ ]?)?(?=[^\s/|])"
)

# A number in a text of JSON becomes a string, so that the text is JSON still.
_AFTER_JSON_KEY = re.compile(r'":[ ]?$')
_END_OF_JSON = re.compile(r"\s*[,}\]]")

Value = tuple[int, int]  # start, end
Span = tuple[int, int, str]  # start, end, kind


def redact_text(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with `[withheld: door code]` in place of each value, and the kinds masked, in order. The same object
    where nothing is found.

    What is masked depends on REACH characters on each side and no more: a caller that holds only parts of a text
    gives each part with that overlap, cut at the ends of lines, and keeps of the result what stands for the part.
    """
    kinds: list[str] = []
    for _ in range(4):  # what is masked may stand nearer to the next; another round finds nothing more, as a rule
        spans = _spans(text)
        if not spans:
            break
        text = _masked(composed(text), spans)
        kinds += [kind for _, _, kind in spans]
    return text, tuple(kinds)


def _spans(text: str) -> list[Span]:
    if _DIGIT_OR_QUOTE.search(text) is None:
        return []
    text = composed(text)
    low = folded(text)
    found: dict[tuple[int, int], str] = {}
    for term in _terms(text, low):
        for values in _values_of(low, term):
            for value in values:
                if value in found:
                    break  # and so are those that follow it
                found[value] = term.kind
    if any(word in low for word in _IN_HEADERS):
        found |= {header.span("value"): "token" for header in _AUTHORIZATION.finditer(low)}
    spans = [(start, end, kind) for (start, end), kind in found.items()]
    return _apart(spans + _repeated(low, spans)) if spans else []


def _terms(text: str, low: str) -> Iterator[Term]:
    """The terms that stand as words, and those that are parts of a name in camel case."""
    near_value = _NEAR_VALUE.search
    for match in terms.IN_WORDS.finditer(low):
        start, end = match.span()
        if not near_value(low, start - _BEFORE_NAME if start > _BEFORE_NAME else 0, end + _BEHIND_NAME):
            continue
        if _OTHER_WORD.match(low, end) and match.lastgroup in _HALF_NAMES and not may_have_far_value(low, start, end):
            continue
        if (term := terms.term_of(match)) and not _is_of_another_name(text, low, term):
            yield term
    for start, end in _names_in_camel_case(text):
        if _may_have_a_value(low, start, end):
            yield from _terms_in_camel_case(text, low, start, end)


def _may_have_a_value(low: str, start: int, end: int) -> bool:
    return _NEAR_VALUE.search(low, max(0, start - _BEFORE_NAME), end + _BEHIND_NAME) is not None


def _names_in_camel_case(text: str) -> Iterator[tuple[int, int]]:
    """As by _CAMEL_CASE.finditer, which would try every letter of the text."""
    at = 0
    while hump := _HUMP.search(text, at + 1):
        before = hump.start() - 1
        if word := _WORD_SO_FAR.search(text, max(at, before - _LETTERS_BEFORE), before):
            name = _CAMEL_CASE.match(text, word.start())
        if word is None or name is None:
            at = hump.end()
            continue
        at = name.end()
        yield name.span()


def _terms_in_camel_case(text: str, low: str, at: int, end: int) -> Iterator[Term]:
    while match := terms.IN_HUMPS.search(low, at, end):
        at = match.end()
        if not _is_whole(text, match.start(), match.end()):
            at = match.start() + 1
        elif (term := terms.term_of(match)) and not _is_of_another_name(text, low, term):
            yield term


def _is_of_another_name(text: str, low: str, term: Term) -> bool:
    """Whether it stands in a path, or in a longer name such as `passwordField` or `pin-priority`."""
    attached = _ATTACHED.match(text, term.end)
    words = spaced(attached[0]).split() if attached else []
    in_path = low[term.start - 1 : term.start] in ("/", "\\", ".") and low[term.end : term.end + 1] in ("/", "\\", ".")
    return in_path or not ABOUT.isdisjoint(words)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether words, or parts of a name in camel case, begin and end there."""
    before, behind = text[start - 1 : start], text[end : end + 1]
    begins = not before.isalnum() or (text[start].isupper() and not before.isupper())
    ends = not behind.isalpha() or (behind.isupper() and not text[end - 1].isupper())
    return begins and ends


def _values_of(low: str, term: Term) -> Iterator[Iterable[Value]]:
    """The values that stand before a name, and those that follow it."""
    if _names_another_code(low, term):
        return
    yield values_before(low, term)
    if term.strength == "secret":
        values = _values_after(low, term.end, loose=True)
        if term.kind == "PIN":
            values = _numbers_or_said(low, term.end, values)
        yield _without_laws(low, values) if term.kind == "building code" else values
    elif term.strength == "code":
        both = [*_codes(low, _values_after(low, term.end, loose=False))], value_said_later(low, term)
        if any(both) and _is_bare(low, term.start) and _has_place_near(low, term):
            yield from both
    elif term.strength == "place" and terms.may_open_with_a_code(term):
        yield value_entered_after(low, term)
        if terms.opens_with_a_code(term, low[term.start : term.end]) and not _OTHER_WORD.match(low, term.end):
            values = _values_after(low, term.end, loose=False, says_so=_separator(low, term))
            yield (_codes if term.kind == "keypad code" else _numbers)(low, values)
    elif terms.opens_with_a_code(term, low[term.start : term.end]):
        yield _after_network(low, term.end)


def _codes(low: str, values: Iterator[Value]) -> Iterator[Value]:
    """Numbers that count nothing, and mixed codes."""
    for start, end in values:
        if codes.is_mixed(low[start:end]) or (codes.is_number(low, start, end) and not codes.is_count(low, end)):
            yield start, end


def _numbers_or_said(low: str, at: int, values: Iterator[Value]) -> Iterator[Value]:
    """Of what follows "pin", which is also a verb: digits, and what a colon or "is" stands before."""
    return (value for value in values if codes.is_number(low, *value) or _SAYS_SO.search(low, at, value[0]))


def _without_laws(low: str, values: Iterator[Value]) -> Iterator[Value]:
    """The International Building Code 2021 opens no door."""
    return (value for value in values if not (_LAW.match(low, value[0]) and low[value[0] - 1] == " "))


def _separator(low: str, place: Term) -> re.Pattern[str]:
    """What has to stand between a place and its code."""
    before = low[max(0, place.start - 80) : place.start]
    if place.kind in ("lockbox code", "keypad code") or _CODE_BEFORE.search(before):
        return _DIRECTLY
    segment = _SEGMENT.search(before)
    words = segment[0].split() if segment else []
    return _SEPARATED if len(words) <= 3 and phrases.PREPOSITIONS.isdisjoint(words) else _OPENED


def _names_another_code(low: str, term: Term) -> bool:
    """A booking code, a postcode, a discount code for the garage, a code of conduct."""
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
    around = terms.IN_WORDS.finditer(low, max(0, term.start - CONTEXT), min(len(low), term.end + CONTEXT // 2))
    places = (each for each in map(terms.term_of, around) if each and each.strength == "place")
    return any(map(terms.may_open_with_a_code, places))


def _numbers(low: str, values: Iterator[Value]) -> Iterator[Value]:
    for start, end in values:
        if codes.is_number(low, start, end) and not codes.is_count(low, end):
            yield start, end


def _after_network(low: str, at: int) -> Iterator[Value]:
    """Wi-Fi: NAME / PASSWORD, and Wi-Fi: PASSWORD."""
    if pair := _NAME_AND_PASSWORD.match(low, at):
        value = codes.value_at(low, pair.end(), direct=True)
        if value and codes.is_direct_value(low, *value):
            yield value
            return
    for start, end in _values_after(low, at, loose=False, says_so=_SEPARATED):
        if not codes.is_count(low, end):
            yield start, end


def _values_after(low: str, at: int, *, loose: bool, says_so: re.Pattern[str] | None = None) -> Iterator[Value]:
    """The value that follows a name, and those that follow it: "codes are 1234 and 5678"."""
    if not loose and _OTHER_WORD.match(low, at):
        return
    value = _first_value(low, at, loose=loose, says_so=says_so)
    for _ in range(SEVERAL):
        if value is None:
            return
        start, end = value
        if not codes.MASKED.match(low, start):
            yield value
        value = _next_value(low, start, end)


def _first_value(low: str, at: int, *, loose: bool, says_so: re.Pattern[str] | None) -> Value | None:
    begin, direct, broken = at, True, False
    if numbering := _NUMBERING.match(low, at):
        at = numbering.end()
    limit = at + AWAY
    while at < min(limit, len(low)):
        if (named := _QUOTED_NAME.match(low, at)) and not _SAYS_SO.search(low, begin, at):
            at, limit = named.end(), named.end() + AWAY  # the name of what the code is for
            continue
        if masked := codes.MASKED.match(low, at):
            return masked.span()
        value = _value_here(low, at, direct=direct)
        if value and not direct and codes.in_quotes(low, *value) and not _SAYS_SO.search(low, begin, at):
            return None
        if value and (not broken or (_SAYS_SO.search(low, begin, at) and _stands_alone(low, value, begin))):
            if says_so is None or says_so.search(low, begin, at):
                return value
            return None
        step = _GLUE.match(low, at) if direct else None
        if step:
            limit += len(step[0]) if step[0][0] in "<(&" else 0
        elif direct and not broken and (step := _LINE_BREAK.match(low, at)):
            broken = True
        elif not direct and low[at] == "=" and ":" in low[begin:at]:
            return None  # source code: `pin: str, code: int = 404`
        elif loose and not broken and (step := _WORD.match(low, at)):
            if _SENTENCE_END.search(low, at, step.end() + 1):
                return None
            direct = False
        elif not direct and low[at] in " \t":
            step = _WORD.match(low, at + 1)
            if step is None:
                return None
            at += 1
            continue
        if step is None:
            return None
        at = step.end()
    return None


def _value_here(low: str, at: int, *, direct: bool) -> Value | None:
    if low[at] in " \t\n":
        return None
    value = codes.value_at(low, at, direct=direct)
    if value is None:
        return None
    fits = codes.is_direct_value if direct else codes.is_loose_value
    return value if fits(low, *value) else None


def _stands_alone(low: str, value: Value, begin: int) -> bool:
    return _ALONE.match(low, value[1]) is not None or re.search(_COPULA, low[begin : value[0]]) is not None


def _next_value(low: str, start: int, end: int) -> Value | None:
    between = _AND.match(low, end)
    if between is None:
        return None
    at = between.end()
    if masked := codes.MASKED.match(low, at):
        return masked.span()
    if at and low[at - 1] in "\"'":
        at -= 1
    value = codes.value_at(low, at, direct=False)
    if value is None or not codes.is_loose_value(low, *value):
        return None
    alike = codes.is_number(low, start, end) <= codes.is_number(low, *value)
    alone = "\n" not in between[0] or _ALONE.match(low, value[1])
    return value if alike and alone else None


def _repeated(low: str, found: list[Span]) -> list[Span]:
    """The same values where they stand again nearby. A year is masked only where it is named."""
    places: dict[str, list[Span]] = {}
    for span in sorted(set(found)):
        value = low[span[0] : span[1]]
        if len(value) >= 4 and not codes.is_year(value):
            places.setdefault(value, []).append(span)
    return [again for value, spans in places.items() for again in _near(low, value, spans)]


def _near(low: str, value: str, spans: list[Span]) -> Iterator[Span]:
    """A value where it stands whole around those spans, each place once."""
    at = 0
    for start, end, kind in spans:
        at = max(at, start - NEAR)
        while (at := low.find(value, at, end + NEAR)) >= 0:
            behind = at + len(value)
            is_named = codes.has_digit(value) or codes.in_quotes(low, at, behind)
            if is_named and not low[at - 1 : at].isalnum() and not low[behind : behind + 1].isalnum():
                yield at, behind, kind
            at = behind
        at = end + NEAR - len(value)


def _apart(spans: list[Span]) -> list[Span]:
    """In order, those that overlap once; of equal ones the first has its kind."""
    kept: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, kind))
        elif end > kept[-1][1]:
            kept[-1] = (kept[-1][0], end, kept[-1][2])
    return kept


def _masked(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, kind in spans:
        is_number_of_json = _AFTER_JSON_KEY.search(text, max(0, start - 4), start) and _END_OF_JSON.match(text, end)
        pieces += [text[at:start], f'"{mark(kind)}"' if is_number_of_json else mark(kind)]
        at = end
    return "".join([*pieces, text[at:]])
