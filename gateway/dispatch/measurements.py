"""Records each call in telemetry: its figures if it was answered, the reason if it failed.

While the caller waits, only values that the call already has are put into a tuple. The writer thread computes the
figures from it. The tuple refers to nothing large, because many of them are queued while the database is unavailable.
"""

import time
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from context_protection.core import tokens
from context_protection.core.errors import CallError
from context_protection.core.masks import Counts
from context_protection.core.tokens import claude
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.dispatch import configuration, kept_arguments
from gateway.dispatch.call import Call
from gateway.dispatch.response_cache import CachedResponse
from gateway.failure_origins import CANCELLED, ORIGINS, origin_of
from gateway.upstreams import usage
from gateway.upstreams.failures import cleaned
from gateway.upstreams.usage import UpstreamUse
from telemetry import attempts, recorder
from telemetry.measurement import Measurement, Origin, WithheldCount

UNKNOWN_OPERATION = "(unknown)"
LONGEST_MESSAGE = 300  # characters
MOST_NAMES = 30  # names of arguments
SHORT = 2_000  # characters; shorter arguments are queued together with their call

# For each figure, the attribute of Call or Envelope that has its value.
CALL = {
    "request_id": "id",
    "caller": "caller.name",
    "transport": "transport",
    "client": "program.name",
    "client_version": "program.version",
    "protocol": "program.protocol",
    "trace_id": "trace_id",
}
ENVELOPE = {
    "outcome": "outcome",
    "item_count": "items",
    "total_rows": "total_rows",
    "largest_row_tokens": "largest_row_tokens",
    "chain": "chain",
    "page": "page",
    "original_tokens": "original_tokens",
    "estimated_tokens": "estimated_tokens",
    "claude_tokens": "claude_tokens",
    "baseline_tokens": "baseline_tokens",
    "oversized": "oversized",
    "pagination_used": "paginated",
    "summarization_used": "summarized",
    "chunking_used": "chunked",
    "missing_fields": "missing_fields",
    "withheld": "withheld",
}
_call_facts = attrgetter(*CALL.values())
_envelope_facts = attrgetter(*ENVELOPE.values())


class AnsweredCall(NamedTuple):
    """An answered call. `figures` are those of its envelope, in the order of ENVELOPE."""

    ended: float  # time.time()
    milliseconds: float
    call: tuple[Any, ...]
    argument_names: tuple[str, ...]
    operation: Operation
    figures: tuple[Any, ...]
    size: int
    failure: CallError | None
    threshold: int
    revision: int
    arm: str
    is_cached: bool
    use: UpstreamUse | None

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.ended, UTC)

    def measured(self) -> Measurement:
        figures = dict(zip(ENVELOPE, self.figures, strict=True))
        if figures["baseline_tokens"] is None:
            figures["baseline_tokens"] = figures["original_tokens"]
        figures["missing_fields"] = ", ".join(figures["missing_fields"])
        figures["withheld"] = _counts(figures["withheld"])
        figures |= {"origin": "", "error_reason": "", "error_message": ""}
        if self.failure is not None:
            figures |= {
                "outcome": "error",
                "origin": origin_of(self.failure),
                "error_reason": self.failure.reason,
                "error_message": _masked(self.failure.message),
            }
        return Measurement(  # without defaults: a figure that nobody measures is an error
            at=self.at,
            latency_ms=self.milliseconds,
            argument_names=", ".join(self.argument_names[:MOST_NAMES]),
            response_bytes=self.size,
            threshold=self.threshold,
            revision=str(self.revision),
            arm=self.arm,
            is_cached=self.is_cached,
            **_of_call(self.call),
            **_of_operation(self.operation),
            **_of_upstreams(self.use),
            **figures,
        )

    def after_storing(self) -> None:
        """Nothing to do: `record` has already passed the arguments on, if they are to be stored."""


class FailedCall(NamedTuple):
    """A failed call. `argument_names`: of any number and type, because they were not validated. `arguments`: JSON that
    the writer thread stores; "" if they were already passed on. `body`: the error as sent to the client; empty if the
    call was cancelled."""

    ended: float  # time.time()
    milliseconds: float
    call: tuple[Any, ...]
    argument_names: tuple[Any, ...]
    arguments: str
    operation: str
    reason: str
    message: str
    origin: Origin
    body: bytes
    revision: int
    arm: str
    use: UpstreamUse | None

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.ended, UTC)

    def measured(self) -> Measurement:
        operation, text = catalogue.find(self.operation), self.body.decode()
        return Measurement.with_defaults(
            at=self.at,
            latency_ms=self.milliseconds,
            argument_names=_names(self.argument_names),
            outcome="error",
            origin=self.origin,
            error_reason=self.reason,
            error_message=_masked(self.message),
            response_bytes=len(self.body),
            estimated_tokens=tokens.formula(text),
            original_tokens=tokens.formula(text),
            baseline_tokens=tokens.formula(text),
            claude_tokens=claude.count(text) if text else 0,
            revision=str(self.revision),
            arm=self.arm,
            **_of_call(self.call),
            **(_of_operation(operation) if operation else {"operation": UNKNOWN_OPERATION}),
            **_of_upstreams(self.use),
        )

    def after_storing(self) -> None:
        if self.arguments:
            call_id, caller = self.call[:2]  # see CALL
            kept_arguments.keep_text(self.arguments, call_id, self.operation, caller, self.ended, self.body)


def record(call: Call, operation: Operation, response: CachedResponse, *, is_cached: bool = False) -> None:
    """Records an answered call. Does not block or raise."""
    envelope, ended = response.envelope, time.time()
    recorder.record(
        AnsweredCall(
            ended,
            (time.perf_counter() - call.started) * 1000,
            _call_facts(call),
            tuple(call.arguments),
            operation,
            _envelope_facts(envelope),
            len(envelope.body),
            envelope.failure,
            response.threshold,
            response.revision,
            response.arm,
            is_cached,
            usage.of_this_call(),
        )
    )
    if envelope.failure is not None:
        kept_arguments.keep(call, operation.name, ended, envelope.body)
    elif kept_arguments.are_kept(operation.name):
        kept_arguments.keep(call, operation.name, ended)


def record_error(call: Call, error: CallError) -> None:
    """Records a failed call, or one that its transport rejected before dispatching it. Does not block or raise."""
    _record_failure(call, error.reason, error.message, origin_of(error), error.body)


def record_cancelled(call: Call) -> None:
    _record_failure(call, CANCELLED, "The client cancelled the call, or has disconnected.", ORIGINS[CANCELLED], b"")


def _record_failure(call: Call, reason: str, message: str, origin: Origin, body: bytes) -> None:
    use, ended = usage.of_this_call(), time.time()
    milliseconds = call.milliseconds
    if reason == "timeout" and use is not None and use.milliseconds > milliseconds / 2:
        origin = Origin.UPSTREAM  # most of the policy's time limit was spent waiting for an upstream
    text = kept_arguments.as_text(call)
    is_short = 0 < len(text) <= SHORT
    operation = catalogue.current_name(call.operation)
    revision, arm = configuration.revision_and_arm(operation, call.caller.name)
    recorder.record(
        FailedCall(
            ended,
            milliseconds,
            _call_facts(call),
            tuple(call.arguments) if is_short else _short_names(call),
            text if is_short else "",
            operation,
            reason,
            message[: 4 * LONGEST_MESSAGE],
            origin,
            body,
            revision,
            arm,
            use,
        )
    )
    if not is_short:
        kept_arguments.keep_text(text, call.id, operation, call.caller.name, ended, body)


def _short_names(call: Call) -> tuple[str, ...]:
    """Names of arguments, shortened: they were not validated, and may be of any length."""
    return tuple(str(name)[:LONGEST_MESSAGE] for name in list(call.arguments)[:MOST_NAMES])


def _names(names: tuple[Any, ...]) -> str:
    return cleaned(", ".join(map(str, names[:MOST_NAMES])), (), most=LONGEST_MESSAGE)


def _of_call(facts: tuple[Any, ...]) -> dict[str, Any]:
    figures = dict(zip(CALL, facts, strict=True))
    return figures | {name: _cleaned_name(figures[name]) for name in ("client", "client_version")}


@lru_cache(maxsize=1024)
def _cleaned_name(text: str) -> str:
    """The client's name or version, cleaned, because a client may send any text."""
    return cleaned(text, ())


def _of_operation(operation: Operation) -> dict[str, Any]:
    return {
        "operation": operation.name,
        "connector": catalogue.connector_of(operation.name),
        "endpoint": operation.endpoint,
        "kind": operation.kind,
    }


def _of_upstreams(use: UpstreamUse | None) -> dict[str, Any]:
    if use is None:
        return {"upstream": "", "upstream_status": 0, "attempts": 0, "upstream_ms": 0.0, "waits": ""}
    return {
        "upstream": use.name,
        "upstream_status": use.status,
        "attempts": use.attempts,
        "upstream_ms": use.milliseconds,
        "waits": attempts.written(use.waits),
    }


def _masked(message: str) -> str:
    return cleaned(message, (), most=LONGEST_MESSAGE)


def _counts(found: Counts) -> tuple[WithheldCount, ...]:
    return tuple(WithheldCount(each.path, each.kind, each.how, count) for each, count in found.items()) if found else ()
