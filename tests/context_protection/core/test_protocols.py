"""isinstance() on a protocol: what Python answers, looked up once per class."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from context_protection.core.payloads import Record, Rows
from context_protection.core.protocols import CheckedOncePerClass
from context_protection.core.query.queryable import Queryable
from context_protection.core.rows import MemoryRows


@runtime_checkable
class Named(Protocol, metaclass=CheckedOncePerClass):
    @property
    def name(self) -> str: ...


class Counted:
    """Counts how often its name is looked for."""

    asked = 0

    @property
    def name(self) -> str:
        Counted.asked += 1
        return "counted"


@dataclass
class Plain:
    name: str


def test_rows_are_told_from_records_as_before() -> None:
    rows, record = MemoryRows([{"id": 1}]), Record({"id": 1})
    for _ in range(2):
        assert isinstance(rows, Rows)
        assert isinstance(rows, Queryable)
        assert not isinstance(record, Rows)
        assert not isinstance(record, Queryable)


def test_members_may_be_fields_and_are_not_evaluated_again() -> None:
    assert isinstance(Plain("a"), Named)
    assert not isinstance("a text", Named)
    asked = []
    for _ in range(3):
        assert isinstance(Counted(), Named)
        asked.append(Counted.asked)
    assert len(set(asked)) == 1
