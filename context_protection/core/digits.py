"""Digits in bytes, made equal: a run of them is then found without a regular expression, which takes ten times as
long."""

from typing import Final

_EACH_AS_0: Final = bytes(ord("0") if each in b"0123456789" else each for each in range(256))


def as_zeros(data: bytes) -> bytes:
    """The same bytes with 0 for each digit, so that any run of digits is a run of zeros."""
    return data.translate(_EACH_AS_0)
