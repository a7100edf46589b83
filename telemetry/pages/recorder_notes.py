"""Notes for all pages with figures: recording is behind, or calls are missing."""

from collections.abc import Iterator, Sequence

from django.utils import timezone

from telemetry import processes, wording
from telemetry.models import ProcessReport

LATE = 10.0  # a longer lag, in seconds, is noted


def notes() -> Iterator[str]:
    reports = processes.alive()
    recorders = [report.report["recorder"] for report in reports if report.report.get("recorder")]
    lag = processes.recorder_lag(reports, now=timezone.now())
    if lag > LATE:
        late = wording.milliseconds(1000 * lag)
        yield f"Figures end {late} before now. Calls are still answered; recording is behind."
    dropped = sum(int(each.get("dropped") or 0) for each in recorders)
    if dropped:
        are = "was" if dropped == 1 else "were"
        yield (
            f"{wording.plural(dropped, 'call')} {are} answered but not recorded since {_oldest(reports)}. "
            "Totals are too low by that number."
        )


def _oldest(reports: Sequence[ProcessReport]) -> str:
    return wording.minute(min(report.started_at for report in reports))
