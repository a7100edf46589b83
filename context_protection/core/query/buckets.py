"""Time buckets: all values of one hour, day, week, month, quarter or year form one group."""

from enum import StrEnum

from context_protection.core.query.columns import week


class Bucket(StrEnum):
    """A span of time: "2026-11-20T13", "2026-11-20", "2026-W47", "2026-11", "2026-Q4", "2026"."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


def bucketed(value: str, bucket: Bucket) -> str:
    """The bucket of a date or timestamp (YYYY-MM-DD, optionally with HH:MM:SS)."""
    match bucket:
        case Bucket.HOUR:
            return value[:13].replace(" ", "T")
        case Bucket.DAY:
            return value[:10]
        case Bucket.WEEK:
            return week(value[:10])
        case Bucket.MONTH:
            return value[:7]
        case Bucket.QUARTER:
            return f"{value[:4]}-Q{(int(value[5:7]) + 2) // 3}"
        case Bucket.YEAR:
            return value[:4]
