"""Token counts by the formula of FR-013, as returned in answers."""


def formula(text: str) -> int:
    """Tokens by FR-013: a quarter of the characters, plus 20 %."""
    return formula_of_length(len(text))


def formula_of_length(chars: int) -> int:
    """`formula` of a text with `chars` characters, for callers that know only the length."""
    quarter = chars // 4
    return quarter + int(quarter * 0.2)


def chars_within(tokens: int) -> int:
    """The most characters for which `formula_of_length` gives at most so many tokens."""
    quarter = 5 * (tokens // 6) + min(tokens % 6, 4)
    return 4 * quarter + 3
