"""The times of the sample account: they are fixed and read no clock. All times are UTC."""

from datetime import datetime, timedelta

NEWEST = datetime(2026, 11, 20)
LAST_SYNC = NEWEST + timedelta(hours=9)

# The first 500 rows lie as far apart as those of a real account of twelve homes. A million rows are for
# load tests, not for history: the rest is packed, so that even the last row is younger than the listings.
_ROOMY_PAIRS = 250
_ROOMY = timedelta(hours=13)
_PACKED = timedelta(minutes=3)


def inserted_on(index: int) -> datetime:
    """The time when row `index` (0 is the newest) came into the account; two neighbours share one moment."""
    pair = index // 2
    roomy = min(pair, _ROOMY_PAIRS)
    return NEWEST - roomy * _ROOMY - (pair - roomy) * _PACKED


def stamp(moment: datetime) -> str:
    """`moment` as the upstream writes it: YYYY-MM-DD HH:MM:SS."""
    return moment.isoformat(" ", "seconds")
