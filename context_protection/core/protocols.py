"""Protocols that `isinstance` checks quickly, for values that every call passes along."""

from typing import Any, Protocol

_ProtocolType: Any = type(Protocol)
_answers: dict[tuple[type, type], bool] = {}  # (protocol, class) → the answer; outside, as it would count as a member


class CheckedOncePerClass(_ProtocolType):  # type: ignore[misc]
    """The metaclass of a runtime protocol whose members a class has in all of its instances, or in none.

    Python 3.11 looks for each member in each value at every check, and evaluates properties to do so."""

    def __instancecheck__(self, instance: Any) -> bool:
        key = (self, type(instance))
        if (answer := _answers.get(key)) is None:
            answer = _answers[key] = super().__instancecheck__(instance)
        return answer
