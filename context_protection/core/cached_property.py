"""A property that is computed once per object, at first use."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 -- a replacement for functools.cached_property
    """Like functools.cached_property of Python 3.12. Earlier versions hold one lock for all instances during a
    computation, so a list that waits for its store would block every other list."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "Self | T":
        """Stores the value in the instance's `__dict__`, so that later reads bypass this method."""
        if instance is None:
            return self
        value: T = self.compute(instance)
        instance.__dict__[self.name] = value
        return value
