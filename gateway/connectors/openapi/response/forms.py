"""The form of a response: the names of its fields, and which of them hold others. It decides where the rows are."""

from itertools import islice
from typing import Any, NamedTuple

from gateway.connectors.openapi.document.responses import MAX_PROPERTIES

EXAMINED = 20  # elements of a list


class ObjectForm(NamedTuple):
    """`below`: the form of each value."""

    names: tuple[str, ...]
    below: tuple[Any, ...]


class ListForm(NamedTuple):
    """`element`: the form of the typical element."""

    element: Any


Form = ObjectForm | ListForm | None  # None: a value that holds no others


def form_of(value: Any, levels: int) -> Form:
    """The form of the upper `levels`, and of the lists in them."""
    if isinstance(value, list):
        return ListForm(form_of(typical(value), 1))
    if not isinstance(value, dict):
        return None
    most, holders = (MAX_PROPERTIES if levels > 0 else 0), (dict, list)
    below = [form_of(each, levels - 1) if isinstance(each, holders) else None for each in islice(value.values(), most)]
    return ObjectForm(tuple(islice(value, most)), tuple(below))


def example(form: Form) -> Any:
    """A value that has this form."""
    if isinstance(form, ObjectForm):
        return dict(zip(form.names, map(example, form.below), strict=True))
    return None if form is None else [example(form.element)]


def holds_list(form: Form) -> bool:
    """Whether it is the form of a list, or has one below it."""
    return isinstance(form, ListForm) or (
        isinstance(form, ObjectForm) and any(map(holds_list, filter(None, form.below)))
    )


def count_of_names(form: Form) -> int:
    if isinstance(form, ObjectForm):
        return len(form.names) + sum(map(count_of_names, filter(None, form.below)))
    return 0 if form is None else count_of_names(form.element)


def typical(elements: list[Any]) -> Any:
    """The element that stands for all: the first object among the first EXAMINED elements, or else the first one."""
    first = next(iter(elements), None)
    if isinstance(first, dict):
        return first
    return next((each for each in elements[:EXAMINED] if isinstance(each, dict)), first)
