"""An operation's own arguments, and those of protection."""

from collections.abc import Iterator

import pytest

from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from gateway.catalog.arguments import validated
from gateway.catalog.operation import Operation
from tests.doors import Doors
from tests.offers import in_place

pytestmark = pytest.mark.django_db

NOTE = Operation(
    name="write_note",
    title="Write a note",
    description="Writes a note.",
    kind=Kind.RECORD,
    parameters={"format": {"type": "string"}, "limit": {"type": "integer", "maximum": 300}},
    form=(),
    fetch=lambda arguments, caller: Record(dict(arguments)),
    endpoint="/api/v1/tools/write_note",
)


@pytest.fixture
def note() -> Iterator[None]:
    with in_place([NOTE]):
        yield


@pytest.mark.usefixtures("note")
def test_an_operation_gets_its_own_argument_of_a_name_that_protection_leaves_to_it(doors: Doors):
    given = {"format": "Summary", "limit": 300}
    for ask in (doors.mcp, doors.post):
        assert ask("write_note", given).items() >= given.items()


def test_its_own_limit_keeps_its_range():
    with pytest.raises(InvalidArgument, match="limit must be a whole number of at most 300"):
        validated(NOTE, {"limit": 301})
