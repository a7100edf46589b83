"""The times of the sample account, in UTC. They are fixed, and independent of the clock."""

from datetime import datetime, timedelta

NEWEST = datetime(2026, 11, 20)
LAST_SYNC = NEWEST + timedelta(hours=9)

# The first 500 rows are as far apart as in a real account of twelve homes. More rows serve only load tests: they are
# packed, so that even the last of a million rows is younger than the listings.
_ROOMY_PAIRS = 250
_ROOMY = timedelta(hours=13)
_PACKED = timedelta(minutes=3)


def inserted_on(index: int) -> datetime:
    """When row `index` (0 is the newest) was created. Each pair of rows shares a time."""
    pair = index // 2
    roomy = min(pair, _ROOMY_PAIRS)
    return NEWEST - roomy * _ROOMY - (pair - roomy) * _PACKED


def stamp(moment: datetime) -> str:
    """The time as upstream writes it: YYYY-MM-DD HH:MM:SS."""
    return moment.isoformat(" ", "seconds")
