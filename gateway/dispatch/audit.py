"""Audits of token counts: some answers are counted in full, and both counts are stored (FR-014).

    consider(…)  ─►  queue (100 bodies)  ─►  audit thread: full count, class  ─►  telemetry.audits.store()

The hot path pays for a checksum and, for about one call in a hundred, for queueing the body, at most once in two
seconds unless all answers are audited. If the queue is full, the sample is dropped and counted as dropped. Bodies leave
this machine only when ANTHROPIC_API_KEY is set.
"""

import atexit
import logging
import math
import os
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2
from django.conf import settings

from context_protection.core import tokens
from context_protection.core.payloads import Envelope
from context_protection.core.text_classes import classify
from telemetry import audits
from telemetry.models import TokenAudit
from telemetry.recorder import Recorder
from telemetry.storage import Stored

PAUSE_SECONDS = (
    2.0  # between two samples: a full count takes 0.1 s of processor time that answers need when the load is high
)
WAITING = 100  # bodies, of at most 49,000 characters each
PROVIDER_SECONDS = 10.0
LEFT_ALONE_SECONDS = 60.0  # after the provider has failed
SHUTDOWN = 1.0  # seconds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sample:
    """A response to audit, as it was sent."""

    at: datetime
    operation: str
    body: bytes
    formula_tokens: int
    claude_tokens: int


@dataclass(frozen=True, slots=True)
class Actual:
    """A full count and its source."""

    tokens: int
    source: TokenAudit.Source


@dataclass(frozen=True, slots=True)
class AuditState:
    """Audit figures of this process."""

    waiting: int
    stored: int
    dropped: int  # the queue was full, or the sample could not be counted or stored
    provider_failures: int


# -- The full count ---------------------------------------------------------------------------------


class Provider:
    """Counts a text with the provider's API, without the tokens that frame a message."""

    def __init__(self, base_url: str, key: str, model: str) -> None:
        self._address = f"{base_url.rstrip('/')}/v1/messages/count_tokens"
        self._headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        self._model = model

    def count(self, text: str) -> int:
        """Raises httpx2.HTTPError, and ValueError for a response without a count."""
        request = {"model": self._model, "messages": [{"role": "user", "content": text}]}
        response = httpx2.post(self._address, headers=self._headers, json=request, timeout=PROVIDER_SECONDS)
        response.raise_for_status()
        document = response.json()
        counted = document.get("input_tokens") if isinstance(document, dict) else None
        if not isinstance(counted, int) or counted < tokens.Ctok.FRAME:
            raise ValueError("no input_tokens")
        return counted - tokens.Ctok.FRAME


class Counter:
    """Counts with the provider, if one is configured; with ctok otherwise, and for a minute after the provider has
    failed."""

    def __init__(self, provider: Provider | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.failures = 0
        self._provider = provider
        self._clock = clock
        self._away_until = -1.0

    def count(self, text: str) -> Actual:
        """Raises ImportError without ctok, and any error of ctok itself."""
        if self._provider is not None and self._clock() >= self._away_until:
            try:
                return Actual(self._provider.count(text), TokenAudit.Source.PROVIDER)
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
                self.failures += 1
                self._away_until = self._clock() + LEFT_ALONE_SECONDS
                # Only the type: the message may quote the text that was sent.
                logger.warning("the provider did not count a text", extra={"error": type(error).__name__})
        return Actual(tokens.exact(text), TokenAudit.Source.CTOK)


def counter_from_settings() -> Counter:
    key = settings.ANTHROPIC_API_KEY
    return Counter(Provider(settings.ANTHROPIC_BASE_URL, key, settings.AUDIT_MODEL) if key else None)


# -- Off the hot path -------------------------------------------------------------------------------


class Auditor:
    """Takes samples on the hot path and audits them on its own thread, which starts with the first sample."""

    def __init__(
        self,
        share: float,
        counter: Counter,
        *,
        threaded: bool = True,
        waiting: int = WAITING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._share = share
        self._pause = 0.0 if share >= 1 else PAUSE_SECONDS
        self._clock = clock
        self._next = -math.inf
        self._counter = counter
        # One at a time and without retries: a sample that fails affects no other.
        self._samples: Recorder[Sample] = Recorder(
            self._audit, name="token-audit", threaded=threaded, capacity=waiting, batch=1, patience=0
        )

    def consider(self, request_id: str, operation: str, envelope: Envelope) -> None:
        """Takes the answer as a sample, or not: a few microseconds, no I/O, no error."""
        if zlib.crc32(request_id.encode("utf-8", "replace")) >= self._share * 2**32:
            return
        now = self._clock()
        if now < self._next:
            return
        self._next = now + self._pause
        self._samples.record(
            Sample(datetime.now(UTC), operation, envelope.body, envelope.estimated_tokens, envelope.claude_tokens)
        )

    def flush(self, timeout: float = SHUTDOWN) -> bool:
        return self._samples.flush(timeout)

    def stop(self, timeout: float = SHUTDOWN) -> bool:
        return self._samples.stop(timeout)

    def state(self) -> AuditState:
        samples = self._samples.state()
        return AuditState(samples.queued, samples.stored, samples.dropped, self._counter.failures)

    def _audit(self, samples: Sequence[Sample]) -> Stored:
        for sample in samples:
            audits.store(audited(sample, self._counter))
        return Stored(stored=len(samples))


def audited(sample: Sample, counter: Counter) -> audits.Audit:
    """The sample's counts next to the actual count. Raises what the counter raises."""
    text = sample.body.decode()
    actual = counter.count(text)
    return audits.Audit(
        at=sample.at,
        operation=sample.operation,
        text_class=classify(text),
        chars=len(text),
        formula_tokens=sample.formula_tokens,
        claude_tokens=sample.claude_tokens,
        actual_tokens=actual.tokens,
        source=actual.source,
    )


_auditor = Auditor(settings.AUDIT_SHARE, counter_from_settings())


def consider(request_id: str, operation: str, envelope: Envelope) -> None:
    """May take this answer as a sample: AUDIT_SHARE of all answers, but not many in a row. Does not block or raise."""
    _auditor.consider(request_id, operation, envelope)


def state() -> AuditState:
    return _auditor.state()


def stop() -> None:
    """For shutdown: samples that are not audited within a second are lost."""
    _auditor.stop()


def _reset_after_fork() -> None:
    """A forked process has neither the audit thread nor a use for its parent's samples."""
    global _auditor
    _auditor = Auditor(settings.AUDIT_SHARE, counter_from_settings())


os.register_at_fork(after_in_child=_reset_after_fork)
atexit.register(stop)
