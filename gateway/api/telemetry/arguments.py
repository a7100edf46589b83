"""The arguments of /api/v1/telemetry/…: a span of time, and a selection of calls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import QueryDict
from django.utils import timezone

from context_protection.core.errors import InvalidArgument
from telemetry.pages.ranges import read_moment
from telemetry.queries import DIMENSIONS, InvalidFilter, Position, Selection, Span

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
LONGEST = timedelta(days=400)
SPAN = ("from", "to", "range")
LEAST = ("min_ms", "min_tokens")
LARGEST = 2**31 - 1  # that a column of tokens holds
MOST_RECORDS = 200
MOST_GROUPS = 1_000


@dataclass(frozen=True, slots=True)
class QueryArguments:
    """The query of a request. Its properties raise InvalidArgument."""

    query: QueryDict

    @classmethod
    def of(cls, query: QueryDict, *own: str) -> "QueryArguments":
        """`own`: further arguments of the address. Raises InvalidArgument for an unknown one, and for a value that no
        database can search for."""
        known = {*SPAN, *LEAST, *DIMENSIONS, *own}
        if unknown := [name for name in query if name not in known]:
            raise _invalid(unknown[0], query[unknown[0]], f"one of: {', '.join(sorted(known))}", "unknown_argument")
        for name, values in query.lists():
            if with_nul := [each for each in values if "\0" in each]:
                raise _invalid(name, with_nul[0], "a text without the character NUL (%00), which no call has")
        return cls(query)

    @property
    def span(self) -> Span:
        until = self._moment("to") or timezone.now()
        since = self._moment("from")
        if since is None:
            return Span.of(until - self._range(), until)
        if not timedelta() < until - since <= LONGEST:
            raise _invalid("from", self.query["from"], f"a time before `to`, at most {LONGEST.days} days earlier")
        return Span.of(since, until)

    @property
    def selection(self) -> Selection:
        values = {name: self.query.getlist(name) for name in DIMENSIONS if name in self.query}
        least: Mapping[str, Any] = {name: self.number(name, None, 0, LARGEST) for name in LEAST}
        try:
            return Selection.of(values, **least)
        except InvalidFilter as error:
            raise _invalid(error.dimension, error.value, error.expected) from None

    def dimension(self, name: str) -> str | None:
        value = self.query.get(name)
        if value is not None and value not in DIMENSIONS:
            raise _invalid(name, value, f"one of: {', '.join(DIMENSIONS)}")
        return value

    def dimensions(self, name: str) -> tuple[str, ...]:
        values = [each for text in self.query.getlist(name) for each in text.split(",") if each]
        for value in values:
            if value not in DIMENSIONS:
                raise _invalid(name, value, f"one of: {', '.join(DIMENSIONS)}")
        return tuple(dict.fromkeys(values))

    def position(self, name: str) -> Position | None:
        text = self.query.get(name)
        try:
            return Position.parse(text) if text else None
        except (ValueError, OverflowError, OSError):
            raise _invalid(name, text, "a position that an earlier answer gave as `older` or `newer`") from None

    def number(self, name: str, default: int | None, least: int, most: int) -> int | None:
        text = self.query.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 12 and least <= int(text) <= most):
            raise _invalid(name, text, f"a number from {least} to {most}")
        return int(text)

    def _moment(self, name: str) -> datetime | None:
        text = self.query.get(name)
        if not text:
            return None
        moment = read_moment(text.replace(" ", "+"), UTC)  # a plus sign in a query means a space
        if moment is None:
            raise _invalid(name, text, "a time such as 2026-11-24T13:00:00Z")
        return moment

    def _range(self) -> timedelta:
        text = self.query.get("range", "24h")
        match = re.fullmatch(r"([1-9]\d{0,4})([mhd])", text)
        if match is None:
            raise _invalid("range", text, "a length such as 15m, 24h or 7d")
        length = int(match[1]) * UNITS[match[2]]
        if length > LONGEST:
            raise _invalid("range", text, f"at most {LONGEST.days} days")
        return length


def _invalid(name: str, value: Any, expected: str, reason: str = "") -> InvalidArgument:
    return InvalidArgument(
        f"There is no argument {name}." if reason else f"{name} is not valid.",
        reason=reason or f"invalid_{name}",
        parameter=name,
        value=value,
        expected=expected,
        suggestion="See /api/docs/ under telemetry.",
    )
