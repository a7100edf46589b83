"""The pattern that cuts a text into runs: pieces of letters, digits or punctuation that no token crosses."""

import re
from typing import Final

# The combining marks that belong to a word: Unicode's Alphabetic ones. All other marks are separate from it, like
# signs.
_MARKS: Final = r"\u0345\u0363-\u036f"
_SURROGATES: Final = r"\ud800-\udfff"
# A quote between a space and a word costs one token more than the price of its run.
OPENING_QUOTE: Final = re.compile(r"\ '(?=[A-Za-z\u00c0-\u1fff])(?<=[^0-9\s\u3400-\ud7ff\U00010000-\U0010ffff]..)")


def run_pattern(letters: str, ideographs: str) -> re.Pattern[str]:
    """A pattern that cuts any text into runs whose prices add up. Each character is in exactly one run. Matching takes
    linear time: all repetitions are bounded, so a very long run is cut into windows. The commonest runs come first: an
    ideograph stands twice, because only after a sign and a space an empty run comes before it.

    Punctuation is spelled differently next to a space, so its run includes the spaces around it and a number after
    them. A single space is free between words and punctuation, but costs a token next to a digit or an ideograph. A
    number or an ideograph therefore includes the space between it and a word, and an empty run stands for a space that
    is already in the run of the punctuation. The same holds where a long run of signs and spaces is cut.

    Everything after a repetition is optional, so no repetition backtracks. The pattern has no possessive quantifiers,
    because `re` gets them wrong before Python 3.11.5 (gh-106052). Optional groups are written `(?:…|)`, which `re`
    matches faster than `(?:…)?` and `{0,3}`: this saves 10 % of the time of a count.
    """
    letter, ideograph, sign, space = _classes(letters, ideographs)
    newline = r"[\t\n\r\f\v\x85\u3000]"
    number = rf"[0-9]{{1,3}}(?:{space}(?={letter})|)"
    more = rf"{space}{sign}{{1,16}}"
    signs = rf"{sign}{{1,16}}(?:{more}(?:{more}(?:{more}|)|)|)(?:{space}(?:{number}|(?=\S))|{number}|)"
    return re.compile(
        rf"""
          {letter}{{1,64}}
        | {ideograph}(?<!{sign}{space}.)(?:{space}(?={letter})|)
        | {space}{letter}{{1,64}}
        | '(?:[stdm]|ll|re|ve)(?!{letter})
        | (?<={sign}{space})(?={sign})
        | {signs}
        | {number}
        | (?<={sign}{space})(?={ideograph})
        | {ideograph}(?:{space}(?={letter}))?
        | (?:(?<=[0-9])|(?<={ideograph}))(?={space}{sign})
        | (?:{newline}{{1,16}}{space}{{0,16}}|{space}{{1,16}})(?:{signs}|)
        """,
        re.VERBOSE,
    )


def inner_pattern(letters: str, ideographs: str) -> re.Pattern[str]:
    """A pattern for a row of ideographs, with single signs between them: its first ideograph, and all others. Each of
    the others is a run of its own, whatever is around it, so a text is counted without them in half of the time. An
    ideograph before a space is none of them."""
    _, ideograph, sign, space = _classes(letters, ideographs)
    return re.compile(rf"({ideograph})({ideograph}*(?:{sign}{ideograph}+)*)(?!{space})")


def _classes(letters: str, ideographs: str) -> tuple[str, str, str, str]:
    """Letters, ideographs, signs and spaces, as sets of a regular expression."""
    return (
        rf"[A-Za-z{letters}{_MARKS}]",
        rf"[{ideographs}{_SURROGATES}]",
        rf"[^A-Za-z{letters}{_MARKS}{ideographs}{_SURROGATES}0-9\s]",
        r"[\ \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\x1c-\x1f]",
    )
