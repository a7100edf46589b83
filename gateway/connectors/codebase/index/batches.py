"""Splits an iterable into batches."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items; the last may be shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
