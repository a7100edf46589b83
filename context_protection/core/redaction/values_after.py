"""Finds the value that follows a name in a text: "the door code, as of today, is 4711"."""

import re
from collections.abc import Iterator

from context_protection.core.redaction import codes, phrases
from context_protection.core.redaction.candidates import Candidates
from context_protection.core.redaction.findings import MARK

MAX_DISTANCE = 40  # characters between a name and its value; markup and text in brackets do not count
MAX_REACH = 1000  # characters between them, with markup and text in brackets
MAX_VALUES = 12  # values after one name
_FIRST_VALUE_REACH = 140  # characters after a name within which its first value must begin

_COPULA = phrases.COPULA
OPENS = rf"(?:{phrases.OPENS})(?: sich)? (?:{phrases.WITH})"
_JOINS = f"{_COPULA}|{phrases.WITH}|{OPENS}|{phrases.FILLERS}".replace(" ", r"\ ")
# Allowed between a name and its value: spaces, brackets, markup, ":", "is".
_GLUE = re.compile(
    rf"""[ \t_]+ | (?:\([^()\n0-9"]{{0,60}}\) | <[^<>\n]{{0,120}}> | &(?:nbsp|quot|\#\d{{2,5}}|[a-z]{{2,6}});)+
    | \*\*(?!\*) | ["']*[:=](?=["']) | [:=|>~*?/"'`(\[-]+
    | (?:{_JOINS}|nr\.?|no\.(?=\ )|num\.?)(?![a-z0-9'])
    """,
    re.VERBOSE,
)
# A word after a name that is not a value and does not lead to one. It quickly rules out most names in sentences.
OTHER_WORD = re.compile(rf"[ \t]+(?![ \t])(?!(?:{_JOINS}|nr|no|num)(?![a-z0-9']))[a-z]+(?![a-z])[.,;:!?]?(?:\s|\Z)")
ASSIGNS = re.compile(rf"[:=|>]|(?<![a-z])(?:{_COPULA}|{OPENS})(?![a-z])|-(?=\s)|</t[dh]>|\n")
_QUOTED_NAME = re.compile(rf"""["'][^"'\n]{{1,40}}["'] (?=(?:{_COPULA}) |[:=])""")
_NUMBERING = re.compile(r"(?:'s)?[ _]?\#?\d{1,2}(?=\s*[:=)])")
_LINE_BREAK = re.compile(r"[ \t]*\r?\n[ \t]*(?:\r?\n[ \t]*)?(?:[-*•>+][ \t]+|\d{1,2}[.)][ \t]+)?")
_ARGUMENT = re.compile(r"[a-z_]\w{0,40}=(?!=)")
_DOCSTRING = re.compile('"""(?!")')
_END_OF_LISTED = re.compile(r" ?[,;()]|[.]?(?:\s*\n|$)")
_ALONE = re.compile(r"[*_\"'`).,;! \t|]*(?:<[^<>\n]{0,40}>[ \t]*)*(?:\r?\n|$)")
_WORD = re.compile(rf"[^\s]{{1,{MAX_DISTANCE}}}")  # no value is looked for behind a longer word
_NO_VALUE = " \t\n<>|`()[]{}=:,;/.-"  # no value begins with these
_AMBIGUOUS = "\"'="  # quotes may enclose a name or a value, "=" may be source code: _first_value decides
# The full stop comes first, so that `re` skips all other characters quickly.
_SENTENCE_END = re.compile(
    r"[.!?;](?=\s|$|<)(?<!\b[dmh]r.)(?<!\bms.)(?<!\b[mf].)(?<!\bfr.)(?<!\bmme.)(?<!\bmrs.)(?<!\bs[rt].)(?<!\bsra.)"
    r"(?<!\bsig.)"
)
_CONJUNCTION = r"\b(?:or|and|then|oder|und|ou|et|y|o|e|ed)\b"
# Allowed between two values: a bracket, a comma or conjunction, a word such as "back:".
_AND = re.compile(
    rf"(?:\s*\([^()\n]{{0,24}}\))?"
    rf"(?:[*_\"'` ]{{0,3}}(?:[,;/|+&]|{_CONJUNCTION})[ ]{{0,2}}"
    rf"|[ \t]*\r?\n[ \t]*(?![ \t])(?:[-*•][ \t]+(?![ \t]))?){{1,2}}"
    rf"(?:[a-z]{{2,14}}[ :]{{1,2}}){{0,2}}[*_\"'`#]{{0,2}}(?=[\d#*\"'a-z\[])"
)

Value = tuple[int, int]  # start, end
Stop = tuple[int, Value | None]  # where a scan over words ends, and the value there


def values_after(
    low: str, candidates: Candidates, at: int, *, loose: bool, required: re.Pattern[str] | None = None
) -> Iterator[Value]:
    """The value after the name that ends at `at`, and the values listed with it: "codes are 1234 and 5678". `loose`:
    other words may come between. `required`: a pattern that must match between the name and its value."""
    if not loose and OTHER_WORD.match(low, at):
        return
    if not candidates.are_between(at, at + _FIRST_VALUE_REACH):
        return
    value = _first_value(low, candidates, at, loose=loose, required=required)
    for _ in range(MAX_VALUES):
        if value is None:
            return
        start, end = value
        if not MARK.match(low, start):
            yield value
        value = _next_value(low, start, end)


def _first_value(
    low: str, candidates: Candidates, at: int, *, loose: bool, required: re.Pattern[str] | None
) -> Value | None:
    begin, direct, broken = at, True, False
    if numbering := _NUMBERING.match(low, at):
        at = numbering.end()
    limit, farthest = at + MAX_DISTANCE, at + MAX_REACH
    while at < min(limit, len(low)):
        if not direct:
            at, value = _next_loose(low, candidates, at)
            if at >= min(limit, len(low)):
                return None
            if low[at] not in _AMBIGUOUS:
                return value
        if (named := _QUOTED_NAME.match(low, at)) and not ASSIGNS.search(low, begin, at):
            at, limit = named.end(), named.end() + MAX_DISTANCE  # the quoted name of the thing that the code opens
            continue
        if masked := MARK.match(low, at):
            return masked.span()
        value = _value_here(low, at, direct=direct)
        if value and (not broken or _is_assigned_alone(low, value, begin, at)):
            is_joined = required is None or required.search(low, begin, at)
            return value if is_joined and (direct or not _is_name(low, value, begin, at)) else None
        step = _step(low, begin, at, direct=direct, loose=loose, broken=broken)
        if step is None:
            return None
        if step.re is _GLUE:
            limit = min(limit + len(step[0]), farthest) if step[0][0] in "<(&" else limit
        elif step.re is _LINE_BREAK:
            if _DOCSTRING.match(low, step.end()):
                return None  # what follows is a docstring of source code, not a value
            broken = True
        else:
            direct = False
        at = step.end()
    return None


def _step(low: str, begin: int, at: int, *, direct: bool, loose: bool, broken: bool) -> re.Match[str] | None:
    """The text that may come between a name and its value: _GLUE, one line break, or words. None if the search ends
    here."""
    if direct:
        if glue := _GLUE.match(low, at, at + MAX_REACH):
            return glue
        if not broken and (line_break := _LINE_BREAK.match(low, at)):
            return line_break
    elif low[at] == "=" and ":" in low[begin:at]:
        return None  # source code: `pin: str, code: int = 404`
    word = _WORD.match(low, at) if loose and not broken else None
    return word if word and not _SENTENCE_END.search(low, at, word.end() + 1) else None


def _next_loose(low: str, candidates: Candidates, at: int) -> Stop:
    """Scans the words from `at` to a value, to a character of _AMBIGUOUS, or to the end of the sentence. The names of
    one sentence share the result through `candidates.stops`, so that no word is read twice."""
    passed: list[int] = []
    stop: Stop | None = None
    while stop is None and (stop := candidates.stops.get(at)) is None:
        passed.append(at)
        at, stop = _loose_step(low, at)
    candidates.stops.update(dict.fromkeys(passed, stop))
    return stop


def _loose_step(low: str, at: int) -> tuple[int, Stop | None]:
    """The next offset to scan from, and the stop if the scan ends here."""
    nothing = len(low), None
    if low[at : at + 1].isspace():
        at += 1
        return at, None if low[at - 1] in " \t" and not low[at : at + 1].isspace() else nothing
    if at == len(low):
        return at, nothing
    if low[at] in _AMBIGUOUS:
        return at, (at, None)
    masked = MARK.match(low, at)
    if value := masked.span() if masked else _value_here(low, at, direct=False):
        return at, (at, value)
    end = at + len(_WORD.match(low, at)[0])  # type: ignore[index]
    is_last = end - at == MAX_DISTANCE or _SENTENCE_END.search(low, at, end + 1)
    return end, nothing if is_last else None


def _value_here(low: str, at: int, *, direct: bool) -> Value | None:
    if low[at] in _NO_VALUE:
        return None
    value = codes.value_at(low, at, direct=direct)
    if value is None:
        return None
    fits = codes.is_direct_value if direct else codes.is_loose_value
    return value if fits(low, *value) else None


def _is_name(low: str, value: Value, begin: int, at: int) -> bool:
    """Whether the value at `at` is itself a name: it is in quotes, and nothing assigns it."""
    return codes.in_quotes(low, *value) and not ASSIGNS.search(low, begin, at)


def _is_assigned_alone(low: str, value: Value, begin: int, at: int) -> bool:
    """Whether the value at `at`, in the line below its name, is assigned to the name and alone in its line."""
    return ASSIGNS.search(low, begin, at) is not None and _stands_alone(low, value, begin)


def _stands_alone(low: str, value: Value, begin: int) -> bool:
    return _ALONE.match(low, value[1]) is not None or re.search(_COPULA, low[begin : value[0]]) is not None


def _next_value(low: str, start: int, end: int) -> Value | None:
    between = _AND.match(low, end)
    if between is None:
        return None
    at = between.end()
    if masked := MARK.match(low, at):
        return masked.span()
    while at > end and low[at - 1] in "\"'":
        at -= 1
    if low[start - 2 : start] in ('="', "='") and _ARGUMENT.match(low, at):
        return None  # source code: connect(password="…", port=5432)
    value = codes.value_at(low, at, direct=False)
    if value is None or not (codes.is_loose_value(low, *value) or _is_listed(low, (start, end), value)):
        return None
    alike = codes.is_number(low, start, end) <= codes.is_number(low, *value)
    alone = "\n" not in between[0] or _ALONE.match(low, value[1])
    return value if alike and alone else None


def _is_listed(low: str, before: Value, value: Value) -> bool:
    """Whether `value` is a short code in a list such as "Codes: X1234 (front), Y99 (back)"."""
    is_short = codes.is_mixed(low[slice(*before)]) and codes.is_short_mixed(low[slice(*value)])
    return is_short and _END_OF_LISTED.match(low, value[1]) is not None
