"""Caches database reads while one page is rendered, because several of its panels need the same rows.

with page_memory.kept():                       around a page
    remembered("marks", read_marks)            reads once; outside of a page, each time
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

T = TypeVar("T")

_memory: ContextVar[dict[Hashable, Any] | None] = ContextVar("page_memory", default=None)


@contextmanager
def kept() -> Iterator[None]:
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def is_kept() -> bool:
    return _memory.get() is not None


def remembered(name: Hashable, read: Callable[[], T]) -> T:
    memory = _memory.get()
    if memory is None:
        return read()
    if name not in memory:
        memory[name] = read()
    return cast(T, memory[name])
