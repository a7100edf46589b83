"""Converts upstream's values for columns. Invalid values become None, and stay unchanged in the row's `data`."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

CODE_CHARS = 100


def text(value: Any) -> str | None:
    return None if value is None else str(value).replace("\0", "\ufffd")


def code(value: Any) -> str | None:
    """A word such as a status, truncated with an ellipsis if it is too long for the column."""
    word = text(value)
    return word if word is None or len(word) <= CODE_CHARS else f"{word[: CODE_CHARS - 1]}…"


def integer(value: Any) -> int | None:
    try:
        number = int(value) if isinstance(value, (int, str)) else int(float(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < 2**63 else None


def real(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def decimal(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value))
    except (InvalidOperation, TypeError):
        return None
    return number.quantize(Decimal("0.0001")) if number.is_finite() and abs(number) < Decimal(10) ** 14 else None


def day(value: Any) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def first_time(upstream: Mapping[str, Any], names: Iterable[str]) -> datetime | None:
    times = (moment(upstream.get(name)) for name in names)
    return next((time for time in times if time), None)


def moment(value: Any) -> datetime | None:
    """The time in UTC. None if it is outside the years 1 to 9999 there, because no database could store it."""
    try:
        time = datetime.fromisoformat(str(value))
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
