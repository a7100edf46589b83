"""Rows that can be queried."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from context_protection.core.payloads import Rows
from context_protection.core.protocols import CheckedOncePerClass
from context_protection.core.query.aggregation import Aggregation, Groups
from context_protection.core.query.columns import QueryColumn, QueryColumns
from context_protection.core.query.conditions import Conditions
from context_protection.core.query.empty import GivenFilter
from context_protection.core.query.words import SearchWords


@runtime_checkable
class Queryable(Protocol, metaclass=CheckedOncePerClass):
    """Rows that can run queries where they are stored."""

    def note(self) -> Mapping[str, Any]:
        """Remarks about all the rows, for `meta` of the first response."""

    @property
    def queryable(self) -> QueryColumns: ...

    @property
    def compared(self) -> Sequence[QueryColumn]:
        """The amounts by which the rows were ordered or filtered. Rows that have any add a note when they are opened,
        if the amounts are in several units."""

    @property
    def given(self) -> Sequence[GivenFilter]:
        """The filters that the list's own parameters set."""

    @property
    def unfiltered(self) -> "Queryable":
        """The rows without these filters."""

    def with_notes(self, notes: Sequence[str]) -> Rows:
        """These rows, with further notes for `meta` of the first response, and without the one on `compared`."""

    def filtered(self, wanted: Conditions) -> Rows: ...

    def searched(self, words: SearchWords) -> Rows: ...

    def grouped(self, aggregation: Aggregation) -> Groups: ...
