"""Long texts are redacted in parts: the result is that of the whole."""

from collections.abc import Iterator

import pytest

from context_protection.core.redaction import redact_text
from gateway.connectors.hostaway.text_redaction import HELD, redacted_parts

LINE = "The house has a quiet garden.\n"
SECRET = "The door code is:\n4711\nGuests park behind the house.\n"


def lines(length: int) -> str:
    """Lines with so many characters."""
    return (LINE * (length // len(LINE) + 1))[-length:]


def divided(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


@pytest.mark.parametrize("size", [HELD // 3, 3 * HELD])
@pytest.mark.parametrize("before", range(16, 24))
def test_a_secret_at_the_end_of_a_part_is_redacted_as_in_the_whole(before: int, size: int):
    """`before`: its characters in front of the place at which the text would be cut."""
    text = lines(HELD - before) + SECRET + lines(HELD)
    parts = list(redacted_parts(divided(text, size)))
    assert len(parts) > 1
    assert "".join(parts) == redact_text(text)[0]
    assert "4711" not in "".join(parts)
