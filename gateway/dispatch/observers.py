"""Observers of fresh answers, besides telemetry. Applications register them at startup."""

import logging
from collections.abc import Callable

from context_protection.core.payloads import Envelope, Payload
from gateway.catalog.operation import NativeResult
from gateway.dispatch.request import PreparedCall

# The payload may still have its secrets. An observer must not block.
Observer = Callable[[PreparedCall, Payload | NativeResult, Envelope], None]

logger = logging.getLogger(__name__)
_observers: list[Observer] = []


def observe_with(observer: Observer) -> None:
    """Registers an observer of all answers except errors, cached answers and later pages."""
    _observers.append(observer)


def answered(prepared: PreparedCall, payload: Payload | NativeResult | None, envelope: Envelope) -> None:
    """Never raises: a failing observer must not fail the call."""
    if payload is None or prepared.request.snapshot is not None or envelope.failure is not None:
        return
    for observe in _observers:
        try:
            observe(prepared, payload, envelope)
        except Exception:
            logger.exception("an observer of answers has failed")
