"""The findings of redaction, and the text that replaces a redacted value."""

import re
from dataclasses import dataclass
from typing import Literal

# Our own marks in a text: they are values that are masked already.
MARK = re.compile(r"\[withheld: [^\]\n]{1,40}\]")


@dataclass(frozen=True, slots=True)
class Finding:
    """A value that was masked: where it stood and what it was. It never holds the value."""

    path: tuple[str | int, ...]
    name: str  # of the field, or of the name/value pair
    kind: str
    how: Literal["field", "pair", "text"]


def mark(kind: str) -> str:
    return f"[withheld: {kind}]"
