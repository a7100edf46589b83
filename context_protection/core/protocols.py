"""Protocols that `isinstance` checks quickly, for checks in every call."""

from typing import Any, Protocol

_ProtocolType: Any = type(Protocol)
_answers: dict[tuple[type, type], bool] = {}  # by protocol and class; as an attribute, it would count as a member


class CheckedOncePerClass(_ProtocolType):  # type: ignore[misc]
    """The metaclass of a runtime protocol. Either all instances of a class must have its members, or none.

    Python 3.11 looks for each member in each value at every check, and evaluates properties to do so."""

    def __instancecheck__(self, instance: Any) -> bool:
        key = (self, type(instance))
        if (answer := _answers.get(key)) is None:
            answer = _answers[key] = super().__instancecheck__(instance)
        return answer
