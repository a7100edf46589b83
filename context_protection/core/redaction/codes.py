"""Recognises codes and passwords in text, and rejects lookalikes: times, prices, dates, counts."""

import re

from context_protection.core.redaction import phrases

COUNTED = 3  # maximum digits of a count before a noun ("120 guests"); a longer number is a code
SHORTEST, LONGEST = 3, 64  # characters of a value

# An escaped quote is part of the value. In double quotes, so are an apostrophe, and a longer run of quotes: in escaped
# JSON, all quotes are runs, and an escaped one is longer. No text fits in two ways, because `re` would try all of them.
_QUOTED = re.compile(
    r"""(?<!")("+)(?![\s:=,"])
        (?P<in_double>(?:[^"\\\n]|\\[\\"']|\\(?![\\'])|(?<!")\1"+(?!")){3,64})
        (?<!\s)\1(?![a-z0-9])
    | '(?![\s:=,])(?P<in_single>(?:[^"'\\\n]|\\[\\"']|\\(?!\\)){3,64})(?<!\s)'(?![a-z0-9])""",
    re.VERBOSE,
)
_END_OF_KEY = re.compile(r"""["']+:""")
_SPACED = re.compile(r"[#*]?\d(?:[ .-]\d){2,11}[#*]{0,2}(?![\w])")
_GROUPED = re.compile(r"[#*]?\d{2,4}(?:[ -]\d{2,4}){1,3}[#*]{0,2}(?![\w.,:/-]{0,200}\d)")
_TWO_GROUPS = re.compile(r"#?\d{2,4}[ -]\d{2,4}#?(?![ -]?[\w])")
_TOKEN = re.compile(r"""(?![=:,;/.-])[^\s<>|"'`()\[\]{}]{3,90}""")
_TRAILING = re.compile(r"(?:&[a-z#0-9]{1,8};.*|,?(?:\\+[nrt])+|[.,;:!?_*)\\/-]+)$")  # \n: a line break in escaped JSON

_MIXED = re.compile(r"(?=[^0-9]*\d)(?=[^a-z]*[a-z])[a-z0-9#*-]{4,16}")
_SHORT_MIXED = re.compile(r"(?=[^0-9]*\d)(?=[^a-z]*[a-z])[a-z0-9]{3}")
_DIGITS = re.compile(r"[#*]*\d[\d*#-]*")
_DAY, _MONTH = "(?:0?[1-9]|[12]\\d|3[01])", "(?:0?[1-9]|1[0-2])"
_HARMLESS = re.compile(
    rf"""\d{{1,2}}[:.h]\d{{2}}(?::\d{{2}})?(?:[ap]m|h|uhr)?(?:-\d{{1,2}}[:.h]\d{{2}}(?:[ap]m|h|uhr)?)?  # times
    | \d{{1,2}}(?:[ap]m|h|uhr)(?:-\d{{1,2}}(?:[ap]m|h|uhr))?
    | (?:19|20)\d\d[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}}(?:t[\d:.]+z?)?)?  # dates
    | (?:{_DAY}[-/.]{_MONTH}|{_MONTH}[-/.]{_DAY})[-/.](?:\d{{4}}|[0-24-9]\d|3[0-2])
    | \d{{1,2}}-?(?:{phrases.MONTHS})[a-z]*-?\d{{0,4}}
    | [+-]?[€$£¥]\d[\d.,' ]*k? | \d[\d.,']*(?:€|\$|£|%|°c?|eur|usd|gbp|chf)  # prices
    | \d+[.,]\d+ | \d{{1,3}}(?:[.,']\d{{3}})+(?:[.,]\d+)?  # numbers with a point
    | \d{{1,2}}/\d{{1,2}}  # 24/7
    | \d+(?:{phrases.ATTACHED_UNITS}) | \d{{1,3}}(?:{phrases.ORDINALS}) | \d+-(?:{phrases.COMPOUND_UNITS})[a-z-]*
    | [^/]{{0,10}}://.* | www\..* | (?:mailto:)?[\w.+-]+@[\w-]+\.[a-z.]{{2,}}  # addresses
    | [\w-]+(?:\.[\w-]+){{0,4}}\.(?:com|net|org|io|de|fr|es|it|pt|co|app)(?:/.*)?
    | [a-z]+(?:[/.][a-z0-9_-]+)+/?
    | \+\d.* | v?\d+(?:\.\d+){{1,3}} | v\d+  # phones, versions
    | (?:wi-?fi|802\.11|wpa|wep|ipv|rfc|iso|utf|sha|aes|rsa|md|mp|h\.|covid|oauth|win|web|base|http|hmac|bcrypt|int
        |uint|float|ral|din|en|ip)[-_]?\d{{1,5}}[a-z]{{0,2}}(?:[-_./][a-z0-9]{{1,8}}){{0,3}}  # standards
    | x(?:86|64|32)(?:[-_]\d\d)?
    | \#\d{{1,3}} | \$[a-z_{{(].* | %[a-z_(].* | \\\S*
    """,
    re.VERBOSE,
)
_UNIT = re.compile(rf"[ \u00a0-]?(?:[%€$£¥°²³]|(?:{phrases.UNITS})(?![a-z=:]))")
_BEFORE = re.compile(
    rf"(?:\b(?:{phrases.NUMBERED})\.?\ ?(?:no\.?|number|nr\.?|nummer|\#|:)?\ ?|[€$£¥+] ?|\b(?:eur|usd|gbp|chf) "
    rf"|\d[ ()/.-]{{1,2}})$"
)
_TIME_OF_YEARS = re.compile(rf"\b(?:{phrases.BEFORE_YEARS})\.?,? ?$")
_DIGIT = re.compile("[0-9]")
_IDENTIFIER = re.compile(r"[a-z_][\w.]*")
_YEAR = re.compile(r"(?:19[5-9]|20[0-4])\d")
_MORE_DIGITS = re.compile(r" \(?\d{2,}")
_NEXT_WORD = re.compile(r" ([a-z]+)")
_PLAIN_CODE = re.compile(r"(?=.*\d)(?:[#*]*\d{3,10}[#*]*|\S{4,64})")


def value_at(low: str, at: int, *, direct: bool) -> tuple[int, int] | None:
    """The span of the possible value that begins at `at`, without its quotes; None if no value begins there.
    `direct`: only punctuation and joining words are between the name and `at`."""
    if quoted := _QUOTED.match(low, at):
        return quoted.span(str(quoted.lastgroup))
    is_assigned = direct or low[at - 2 : at] in (": ", "= ")
    for pattern in (_SPACED, _GROUPED if direct else _TWO_GROUPS) if is_assigned else (_SPACED,):
        if found := pattern.match(low, at):
            return found.span()
    token = _TOKEN.match(low, at)
    if token is None:
        return None
    end = token.end()
    if tail := _TRAILING.search(token[0]):
        trimmed = at + tail.start()
        end = trimmed + 1 if low[trimmed : trimmed + 1] == "*" and low[trimmed + 1 : trimmed + 2] != "*" else trimmed
    return (at, end) if SHORTEST <= end - at <= LONGEST else None


def is_direct_value(low: str, start: int, end: int) -> bool:
    """Whether a value directly after its name is a code: it has a digit or quotes, and is not a time, date, price or
    measure."""
    value = low[start:end]
    if in_quotes(low, start, end):
        return value not in phrases.PLACEHOLDERS and value[0] not in "<{$%" and not _END_OF_KEY.match(low, end)
    if _IDENTIFIER.fullmatch(value) and low[end : end + 1] in ("(", "["):
        return False  # source code that calls or indexes something
    return (
        has_digit(value)
        and value not in phrases.PLACEHOLDERS
        and not _HARMLESS.fullmatch(value)
        and not _UNIT.match(low, end)
    )


def is_loose_value(low: str, start: int, end: int) -> bool:
    """Whether a value with other words between it and its name is a code: it is neither a count nor the number of
    something else."""
    value = low[start:end]
    if in_quotes(low, start, end):
        return is_direct_value(low, start, end) and value.count(" ") < 4
    before = low[max(0, start - 30) : start]
    if not is_direct_value(low, start, end) or _BEFORE.search(before):
        return False
    if _MORE_DIGITS.match(low, end):
        return False
    if _DIGITS.fullmatch(value):
        is_long = len(value) > COUNTED and not _YEAR.fullmatch(value)
        return (is_long or not is_count(low, end)) and not (_YEAR.fullmatch(value) and _TIME_OF_YEARS.search(before))
    mixed = len(value) > SHORTEST and value[0] not in "/@&" and any(char.isalpha() for char in value)
    return mixed or _SPACED.match(value) is not None or _TWO_GROUPS.fullmatch(value) is not None


def is_plain_code(low: str) -> bool:
    """Whether the whole text is one code, such as the value of a field named "Garage"."""
    return bool(_PLAIN_CODE.fullmatch(low)) and not _HARMLESS.fullmatch(low)


def is_numbered_or_priced(before: str) -> bool:
    """Whether the words before a number show that it is no code: "room 12", "EUR 12"."""
    return _BEFORE.search(before) is not None


def is_number(low: str, start: int, end: int) -> bool:
    """Whether the value can be typed on a keypad: digits, `*`, `#` and separators."""
    value = low[start:end]
    return _DIGITS.fullmatch(value) is not None or bool(_SPACED.fullmatch(value) or _GROUPED.fullmatch(value))


def is_count(low: str, end: int) -> bool:
    """Whether the word after a number is a noun that it counts."""
    word = _NEXT_WORD.match(low, end)
    return word is not None and word[1] not in phrases.GOES_ON


def is_mixed(value: str) -> bool:
    """Whether the value is a code of letters and digits, such as `c25y`."""
    return _MIXED.fullmatch(value) is not None and not _HARMLESS.fullmatch(value)


def is_short_mixed(value: str) -> bool:
    """Whether the value is three letters and digits, such as `y99`. It counts as a code only in a list of codes;
    elsewhere such values are too common."""
    return _SHORT_MIXED.fullmatch(value) is not None and not _HARMLESS.fullmatch(value)


def is_year(value: str) -> bool:
    return _YEAR.fullmatch(value) is not None


def in_quotes(low: str, start: int, end: int) -> bool:
    return start > 0 and low[start - 1] in "\"'" and low[end : end + 1] == low[start - 1]


def has_digit(value: str) -> bool:
    return _DIGIT.search(value) is not None
