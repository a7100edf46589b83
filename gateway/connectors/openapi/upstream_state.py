"""Whether an upstream API answers, and its last failure: the latest of this process's state and of the recorded calls
of all processes. Records are written a little later, and not by tests and probes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils import timezone
from django.utils.formats import localize
from django.utils.timezone import localtime

from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.operations import tool_name
from gateway.upstreams.client import REQUEST_REASONS
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import upstreams
from telemetry import queries

SINCE = timedelta(days=7)
FAILURES = {
    "upstream_unreachable": "it could not be reached",
    "upstream_timeout": "it did not answer in time",
    "upstream_failed": "it failed on its side",
    "upstream_garbled": "its answer could not be read",
    "upstream_credentials": "it did not accept the credentials",
    "upstream_busy": "it had too many requests",
    "upstream_redirect": "it redirected to an address that Sluice does not follow",
    "upstream_address": "its address is private or reserved",
    "upstream_unavailable": "it was not called after several failures",
}


@dataclass(frozen=True, slots=True)
class RecordedState:
    """`failure`: a reason, empty if there was none. `is_left_alone`: the circuit breaker of this process is
    open."""

    answered_at: datetime | None
    failed_at: datetime | None
    failure: str
    is_left_alone: bool

    @property
    def state(self) -> str:
        if self.is_left_alone:
            return "Failing: it is not called for up to a minute."
        if self.answered_at is None:
            return "Failing." if self.failed_at else "Not called in the last week."
        if self.failed_at and self.failed_at > self.answered_at:
            return f"Failing. It last answered on {_moment(self.answered_at)}."
        return f"It answers, last on {_moment(self.answered_at)}."

    @property
    def last_error(self) -> str:
        if self.failed_at is None:
            return "None in the last week."
        words = FAILURES.get(self.failure, self.failure.removeprefix("upstream_").replace("_", " "))
        return f"{_moment(self.failed_at)}: {words}."


def state_of(api: UpstreamApi) -> RecordedState:
    names = ImportedOperation.objects.filter(api__upstream=api).values_list("name", flat=True)
    tools = [tool_name(api.name, name) for name in names]
    since = timezone.now() - SINCE
    answered_at = queries.last_answer(tools, since)
    failed_at, failure = queries.last_failure(tools, since, "upstream_", REQUEST_REASONS)
    known = upstreams.get(api.name)
    here = known.state() if known else None
    if here is None:
        return RecordedState(answered_at, failed_at, failure, is_left_alone=False)
    own_failure = _time(here.last_failure_at)
    if own_failure and (failed_at is None or own_failure > failed_at):
        failed_at, failure = own_failure, here.last_failure
    own_answer = _time(here.last_success_at)
    if own_answer and (answered_at is None or own_answer > answered_at):
        answered_at = own_answer
    return RecordedState(answered_at, failed_at, failure, is_left_alone=here.breaker == "open")


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _moment(moment: datetime) -> str:
    return str(localize(localtime(moment)))
