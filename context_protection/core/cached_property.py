"""Values that an object computes once, at the first need."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 -- it stands for functools'
    """As functools has it from Python 3.12 on. Before, one lock for all instances is held while one of them computes:
    a list that waits for its store would hold up every other list."""

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
        """Found in the instance from then on, before this is asked."""
        if instance is None:
            return self
        value: T = self.compute(instance)
        instance.__dict__[self.name] = value
        return value
