"""Passages: stretches of a file that are scored on their own, so that a long file is found by one of its parts."""

LINES = 60  # of a passage
LONGEST_LINE = 1_000  # characters of a line that are read; longer lines are data


def passages_of(text: str) -> list[str]:
    """The text, cut into passages of LINES lines. The last may be shorter; an empty text has none."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(text) > LONGEST_LINE:
        lines = [line[:LONGEST_LINE] for line in lines]
    return ["\n".join(lines[start : start + LINES]) for start in range(0, len(lines), LINES)]
