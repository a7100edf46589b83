"""Audits of token counts: some answers are counted in full, and both counts are stored (FR-014).

    consider(…)  ─►  queue (64 MB of bodies)  ─►  audit thread: full count, class  ─►  telemetry.audits.store()

The hot path computes a checksum and, for about one call in a hundred, queues the body: at most twice a minute, unless
all answers are audited. If the queue is full, the sample is dropped and counted as dropped. Bodies leave this
machine only when ANTHROPIC_API_KEY is set.
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
from context_protection.core.tokens.ctok_vocabulary import Ctok
from telemetry import audits
from telemetry.batch_writer import BatchWriter
from telemetry.models import TokenAudit
from telemetry.storage import StoreResult

# Pause between two samples. A full count of a list's page takes 30 ms of processor time, as much as 20 calls for it.
PAUSE_SECONDS = 30.0
WAITING = 64_000_000  # bytes of queued bodies: about 6,000 answers, which take two minutes to count
PROVIDER_SECONDS = 10.0
PROVIDER_PAUSE_SECONDS = 60.0  # pause before the provider is called again after a failure
SHUTDOWN = 1.0  # seconds that flush and stop wait for queued samples

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditSample:
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
        """Raises httpx2.HTTPError, httpx2.InvalidURL, and ValueError for a response without a count."""
        request = {"model": self._model, "messages": [{"role": "user", "content": text}]}
        response = httpx2.post(self._address, headers=self._headers, json=request, timeout=PROVIDER_SECONDS)
        response.raise_for_status()
        document = response.json()
        counted = document.get("input_tokens") if isinstance(document, dict) else None
        if not isinstance(counted, int) or counted < Ctok.FRAME:
            raise ValueError("no input_tokens")
        return counted - Ctok.FRAME


class Counter:
    """Counts with the provider, if one is configured; with ctok otherwise, and for a minute after the provider has
    failed."""

    def __init__(self, provider: Provider | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.failures = 0
        self._provider = provider
        self._clock = clock
        self._paused_until = -1.0

    def count(self, text: str) -> Actual:
        """Raises ImportError without ctok, and any error of ctok itself."""
        if self._provider is not None and self._clock() >= self._paused_until:
            try:
                return Actual(self._provider.count(text), TokenAudit.Source.PROVIDER)
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
                self.failures += 1
                self._paused_until = self._clock() + PROVIDER_PAUSE_SECONDS
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
        # One at a time and without retries, so that a failed sample affects no other.
        self._samples: BatchWriter[AuditSample] = BatchWriter(
            self._audit, name="token-audit", threaded=threaded, capacity=waiting, weight=_bytes, batch=1, patience=0
        )

    def consider(self, request_id: str, operation: str, envelope: Envelope) -> None:
        """Queues the answer if it is sampled: takes a few microseconds, does no I/O, never raises."""
        if zlib.crc32(request_id.encode("utf-8", "replace")) >= self._share * 2**32:
            return
        now = self._clock()
        if now < self._next:
            return
        self._next = now + self._pause
        pictures = envelope.native.picture_tokens if envelope.native else 0  # they are not in the body
        formula, claude = envelope.estimated_tokens - pictures, envelope.claude_tokens - pictures
        self._samples.put(AuditSample(datetime.now(UTC), operation, envelope.body, formula, claude))

    def flush(self, timeout: float = SHUTDOWN) -> bool:
        return self._samples.flush(timeout)

    def stop(self, timeout: float = SHUTDOWN) -> bool:
        return self._samples.stop(timeout)

    def state(self) -> AuditState:
        samples = self._samples.state()
        return AuditState(samples.queued, samples.stored, samples.dropped, self._counter.failures)

    def _audit(self, samples: Sequence[AuditSample]) -> StoreResult:
        for sample in samples:
            audits.store(audited(sample, self._counter))
        return StoreResult(stored=len(samples))


def _bytes(sample: AuditSample) -> int:
    return len(sample.body)


def audited(sample: AuditSample, counter: Counter) -> audits.Audit:
    """The sample's counts and the actual count. Raises the counter's errors."""
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
    """Samples AUDIT_SHARE of all answers, with a pause between samples. Does not block or raise."""
    _auditor.consider(request_id, operation, envelope)


def state() -> AuditState:
    return _auditor.state()


def stop() -> None:
    """Stops the auditor, at shutdown. Samples that are not audited within a second are lost."""
    _auditor.stop()


def _reset_after_fork() -> None:
    """Replaces the auditor: a forked process lacks the audit thread, and its parent audits the queued samples."""
    global _auditor
    _auditor = Auditor(settings.AUDIT_SHARE, counter_from_settings())


os.register_at_fork(after_in_child=_reset_after_fork)
atexit.register(stop)
