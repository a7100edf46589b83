"""The ticks of the time axis: at round times of the page's zone, such as whole hours or days."""

from datetime import datetime, timedelta

from django.utils import timezone

from telemetry.wording import tick

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
STEPS = (
    *(n * timedelta(seconds=1) for n in (1, 5, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 14, 30, 90)),
)
AT_MOST = 8


def ticks(since: datetime, until: datetime) -> list[tuple[datetime, str]]:
    """Moments with their labels. The label of midnight is the date, to show which day begins."""
    step = next((step for step in STEPS if (until - since) / step <= AT_MOST), STEPS[-1])
    midnight = timezone.localtime(since).replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight + ((since - midnight) // step) * step
    moments = [first + n * step for n in range(AT_MOST + 3)]
    return [(at, _words(at, step)) for at in moments if since <= at <= until]


def _words(at: datetime, step: timedelta) -> str:
    local = timezone.localtime(at)
    if step < MINUTE:
        return f"{local:%H:%M:%S}"
    return tick(at, DAY if (local.hour, local.minute) == (0, 0) else step)
