"""Corrects the mistakes that the parser of a query document (`where`, `aggregate`) reports."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument

NOTHING: Any = object()
STEPS = 6  # mistakes of one document that are corrected together
SHOWN_CHARS = 600  # characters of a corrected document in a suggestion


@dataclass(unsafe_hash=True)
class Correctable(InvalidArgument):
    """An error that is corrected by replacing `wrong`, a name or value in the document, with `right`. If `right` is
    NOTHING, `wrong` is removed. `with_correction` makes the error that callers see."""

    wrong: Any = NOTHING
    right: Any = NOTHING


def with_correction(error: Correctable, document: Any, parse: Callable[[Any], object]) -> InvalidArgument:
    """The error that callers see. It suggests the corrected document, if `parse` accepts that."""
    return InvalidArgument(
        error.message,
        reason=error.reason,
        parameter=error.parameter,
        value=error.value,
        expected=error.expected,
        suggestion=_suggestion(error.parameter, _corrected(error, document, parse)) or error.suggestion,
    )


def _suggestion(parameter: str, corrected: Any) -> str:
    if corrected == {}:
        return f"Leave {parameter} out, or use what is expected."
    written = "" if corrected is None else dumps(corrected).decode()
    return f"Set {parameter} to {written}." if 0 < len(written) <= SHOWN_CHARS else ""


def _corrected(error: InvalidArgument, document: Any, parse: Callable[[Any], object]) -> Any:
    for _ in range(STEPS):
        if not isinstance(error, Correctable) or error.wrong is NOTHING:
            return None
        after = replaced(document, error.wrong, error.right)
        if after is NOTHING:
            return {}
        if after == document:
            return None
        document = after
        try:
            parse(document)
        except InvalidArgument as next_error:
            error = next_error
        else:
            return document
    return None


def replaced(part: Any, wrong: Any, right: Any) -> Any:
    """A copy with `right` in place of each name and value that equals `wrong`. Objects that become empty are left
    out too."""
    if _same(part, wrong):
        return right
    if isinstance(part, dict):
        members = {
            (right if _same(name, wrong) else name): replaced(value, wrong, right) for name, value in part.items()
        }
        members = {name: value for name, value in members.items() if name is not NOTHING and value is not NOTHING}
        return members if members or not part else NOTHING
    if isinstance(part, list):
        return [each for element in part if (each := replaced(element, wrong, right)) is not NOTHING]
    return part


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other
