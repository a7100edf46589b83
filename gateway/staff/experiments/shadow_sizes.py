"""The sizes of shadow mode: how large an answer would have been without protection, computed after it was sent.

    consider(…)  ─►  queue (16 answers)  ─►  one thread: protect under the other policy, count  ─►  ShadowSize

`consider` reads the frozen configuration and queues data that the call already has. The thread rests four times as long
as it worked, so it uses at most a fifth of a processor. A call that arrives meanwhile is counted but not sized. Only
the size of the other answer is stored. No upstream is called for it.
"""

import atexit
import hashlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from context_protection.configuration.policies import used_by_call
from context_protection.core.cursors import Snapshots
from context_protection.core.errors import CallError
from context_protection.core.payloads import Envelope, Payload
from context_protection.core.policy import Policy, problems
from context_protection.core.protect import protect
from context_protection.core.tokens import claude, formula
from context_protection.core.upstream_pages import PagedRows
from context_protection.stores.snapshots import snapshots
from context_protection.stores.transient import TransientSnapshots
from gateway.catalog.operation import NativeResult
from gateway.dispatch.redaction import redacted
from gateway.dispatch.request import PreparedCall
from gateway.staff.experiments.chooser import ShadowChooser
from gateway.staff.experiments.models import UNPROTECTED, ShadowSize
from telemetry.batch_writer import BatchWriter
from telemetry.measurement import OUTSIDE_FIGURES
from telemetry.storage import StoreResult, release_connection

MOST_WAITING = 16  # answers
LARGEST = 2_000_000  # tokens of an answer before protection; a larger one would take seconds
AFTER = 0.25  # seconds to wait before the work, so that the answer has been sent
REST = 4.0  # the length of a rest, in multiples of the time that the work took
SHUTDOWN = 1.0  # seconds that waiting calls have to be sized at the end of the process

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShadowedCall:
    """An answered call, and the experiments that need its size without protection."""

    at: datetime
    queued: float  # time.monotonic()
    shadows: tuple[ShadowChooser, ...]
    prepared: PreparedCall
    payload: Payload | NativeResult
    sent: Envelope


class ShadowSizer:
    """Sizes calls on its own thread, which starts with the first one."""

    def __init__(self, *, threaded: bool = True, after: float = AFTER, rest: float = REST) -> None:
        self._after, self._rest = after, rest
        self._free_at = 0.0  # time.monotonic() until which the thread rests
        self._lock = threading.Lock()
        self._dropped: Counter[int] = Counter()  # by experiment, since the last call that was stored
        self._unknown: Counter[int] = Counter()
        # One at a time and without retries: a call that cannot be sized affects no other.
        self._calls: BatchWriter[ShadowedCall] = BatchWriter(
            self._store, name="shadow-sizes", threaded=threaded, capacity=2 * MOST_WAITING, batch=1, patience=0
        )

    def consider(self, prepared: PreparedCall, payload: Payload | NativeResult, sent: Envelope) -> None:
        """Queues the call if an experiment needs its size without protection. Takes a few microseconds and does no
        I/O."""
        if sent.baseline_tokens == 0 or prepared.call.transport in OUTSIDE_FIGURES:
            return  # the call continues an earlier answer, or staff made it
        name, choosers = prepared.operation.name, prepared.configuration.budgets.choosers
        shadows = tuple(each for each in choosers if isinstance(each, ShadowChooser) and each.is_for(name))
        if not shadows:
            return
        if isinstance(payload, PagedRows):
            whole = payload.in_hand
            if whole is None:  # the other answer needs rows that have not been fetched
                self._count(self._unknown, shadows)
                return
            payload = whole
        now = time.monotonic()
        is_busy = now < self._free_at or self._calls.state().queued >= MOST_WAITING
        if is_busy or sent.original_tokens > LARGEST:
            self._count(self._dropped, shadows)
            return
        self._calls.put(ShadowedCall(datetime.now(UTC), now, shadows, prepared, payload, sent))

    def flush(self, timeout: float = SHUTDOWN) -> bool:
        return self._calls.flush(timeout)

    def stop(self, timeout: float = SHUTDOWN) -> bool:
        return self._calls.stop(timeout)

    def _count(self, counter: Counter[int], shadows: Sequence[ShadowChooser]) -> None:
        with self._lock:
            counter.update(each.experiment for each in shadows)

    def _store(self, calls: Sequence[ShadowedCall]) -> StoreResult:
        for each in calls:
            time.sleep(max(0.0, each.queued + self._after - time.monotonic()))
            began = time.monotonic()
            try:
                self._store_one(each)
            except Exception as error:
                # Only the type: the message may quote the answer.
                logger.warning("a call was not sized", extra={"error": type(error).__name__})
                self._count(self._dropped, each.shadows)
                return StoreResult(dropped=1, last_error=type(error).__name__)
            finally:
                release_connection()
                now = time.monotonic()
                self._free_at = now + self._rest * (now - began)
        return StoreResult(stored=len(calls))

    def _store_one(self, call: ShadowedCall) -> None:
        other = unprotected(call)
        for shadow in call.shadows:
            with self._lock:
                dropped, unknown = self._dropped.pop(shadow.experiment, 0), self._unknown.pop(shadow.experiment, 0)
            ShadowSize.objects.create(
                experiment_id=shadow.experiment,
                at=call.at,
                operation=call.prepared.operation.name[:100],
                caller=pseudonym(shadow.salt, call.prepared.call.caller.name),
                on_claude=call.sent.claude_tokens,
                on_formula=call.sent.estimated_tokens,
                on_summarized=call.sent.summarized,
                on_paged=call.sent.paginated or call.sent.chunked,
                off_claude=other.claude_tokens,
                off_formula=other.formula_tokens,
                off_summarized=other.is_summarized,
                off_paged=other.is_paged,
                off_refused=other.is_refused,
                dropped=dropped,
                unknown=unknown,
            )


@dataclass(frozen=True, slots=True)
class OtherSize:
    """The answer that was not sent. `is_refused`: it would have been an error."""

    claude_tokens: int
    formula_tokens: int
    is_summarized: bool = False
    is_paged: bool = False
    is_refused: bool = False


def unprotected(call: ShadowedCall) -> OtherSize:
    """The same data under the same policy with protection off. The hard cap and the withholding of secrets still
    apply."""
    prepared, caller = call.prepared, call.prepared.call.caller
    policy = replace(prepared.policy, **UNPROTECTED)
    if found := problems(policy):
        raise ValueError(found[0].sentence)
    try:
        with used_by_call(prepared.configuration.budgets, caller.name):
            envelope = _envelope(call, policy)
    except CallError as error:
        text = error.body.decode()
        return OtherSize(claude.count(text), formula(text), is_refused=True)
    return OtherSize(
        envelope.claude_tokens,
        envelope.estimated_tokens,
        is_summarized=envelope.summarized,
        is_paged=envelope.paginated or envelope.chunked,
        is_refused=envelope.failure is not None,
    )


def _envelope(call: ShadowedCall, policy: Policy) -> Envelope:
    """Raises CallError."""
    request, visibility = call.prepared.request, call.prepared.visibility
    own = Snapshots(TransientSnapshots(), snapshots.sealer)

    def protected(payload: Payload) -> Envelope:
        is_clean = call.prepared.operation.is_redacted and not visibility.withheld
        return protect(payload if is_clean else redacted(payload, visibility), request, policy, own)

    payload = call.payload
    return payload.answer(request, policy, protected) if isinstance(payload, NativeResult) else protected(payload)


def pseudonym(salt: str, caller: str) -> str:
    """The same for all calls of a caller in one experiment, and unrelated to the pseudonyms in others."""
    return hashlib.blake2b(caller.encode(), key=salt.encode()[:64], digest_size=8).hexdigest()


_sizer = ShadowSizer()


def consider(prepared: PreparedCall, payload: Payload | NativeResult, sent: Envelope) -> None:
    """Called by the dispatcher. Does not block."""
    _sizer.consider(prepared, payload, sent)


def stop() -> None:
    """Called at shutdown. Calls that are not sized within a second are lost."""
    _sizer.stop()


def _reset_after_fork() -> None:
    """Replaces the sizer: a forked process lacks its thread, and its parent sizes the queued calls."""
    global _sizer
    _sizer = ShadowSizer()


os.register_at_fork(after_in_child=_reset_after_fork)
atexit.register(stop)
