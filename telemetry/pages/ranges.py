"""The spans of time that a page offers, and the zones."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import available_timezones

from telemetry.wording import SPACE, length

RANGES: Mapping[str, timedelta] = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "90d": timedelta(days=90),
}
LABELS: Mapping[str, str] = {
    "15m": "15 minutes",
    "1h": "1 hour",
    "6h": "6 hours",
    "24h": "24 hours",
    "7d": "7 days",
    "30d": "30 days",
    "90d": "90 days",
}
SHORT: Mapping[str, str] = {
    key: label.replace(" minutes", SPACE + "min").replace(" hours", SPACE + "h").replace(" hour", SPACE + "h")
    for key, label in LABELS.items()
}
LONGEST = timedelta(days=400)
ZONES = (
    "UTC",
    "America/Los_Angeles",
    "America/Chicago",
    "America/New_York",
    "America/Sao_Paulo",
    "Europe/London",
    "Europe/Berlin",
    "Africa/Johannesburg",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Sydney",
)

YEARS = range(1970, 9999)  # in other years, times in another zone, and the span before, may not exist


@cache
def _zones() -> set[str]:
    """Finding them reads 600 files, which takes 20 ms."""
    return available_timezones()


def is_zone(name: str) -> bool:
    return name in _zones()


def read_moment(text: str, zone: tzinfo) -> datetime | None:
    """Parses ISO 8601. A text without an offset, as forms send it, is in `zone`. The result is in UTC. None: not a
    time, or not in YEARS."""
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year in YEARS else None


def named(span: timedelta) -> str:
    """24 h, or 3 h 12 min for a span that has no name."""
    return next((SHORT[key] for key, each in RANGES.items() if each == span), length(span))


def shorter(default: str, age: timedelta | None) -> str:
    """The initial preset: the default. If all data is younger than a quarter of the default, the shortest preset that
    covers the data."""
    if age is None or age * 4 >= RANGES[default]:
        return default
    return next(key for key, span in RANGES.items() if span >= age)
