"""Sluice's own spans, as children of the MCP SDK's spans. While OpenTelemetry is off, they cost a check of `tracer`."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from gateway.tracing import identity, names

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span, SpanKind, Tracer

    from context_protection.core.payloads import Envelope

# gateway.tracing.export sets both.
tracer: "Tracer | None" = None
duration: "Histogram | None" = None

_NO_SPAN: AbstractContextManager[None] = nullcontext()


def fetching(operation: str, kind: str) -> "AbstractContextManager[Span | None]":
    if tracer is None:
        return _NO_SPAN
    return span(names.FETCH, {names.TOOL: operation, names.CONNECTOR_KIND: kind})


def protecting(operation: str, kind: str) -> "AbstractContextManager[Span | None]":
    if tracer is None:
        return _NO_SPAN
    return span(names.PROTECT, {names.TOOL: operation, names.CONNECTOR_KIND: kind})


def name_request(route: str, operation: str) -> None:
    """Names the span of a REST request, once its address is resolved."""
    if tracer is None:
        return
    from opentelemetry.trace import get_current_span

    request = get_current_span()
    request.set_attributes({names.HTTP_ROUTE: f"/{route}", names.TOOL: operation})
    request.update_name(f"{request.attributes[names.HTTP_METHOD]} /{route}")  # type: ignore[attr-defined]  # the SDK's


def describe(protect: "Span | None", envelope: "Envelope") -> None:
    """Adds sizes only; arguments and contents are never exported."""
    if protect is not None:
        protect.set_attributes(
            {
                names.OUTCOME: envelope.outcome,
                names.ORIGINAL_TOKENS: envelope.original_tokens,
                names.RESULT_TOKENS: envelope.estimated_tokens,
                names.OVERSIZED: envelope.oversized,
            }
        )


@contextmanager
def span(
    name: str, attributes: Mapping[str, Any], kind: "SpanKind | None" = None, parent: Any = None
) -> "Iterator[Span]":
    """A span that is an error if its block raises. The error's text is left out: it may quote data."""
    from opentelemetry.trace import SpanKind, StatusCode

    assert tracer is not None
    with tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind or SpanKind.INTERNAL,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        try:
            yield started
        except BaseException as error:
            started.set_attribute(names.ERROR_TYPE, getattr(error, "reason", "") or type(error).__qualname__)
            started.set_status(StatusCode.ERROR)
            raise


def trace_id() -> str:
    """The trace of the current call, as telemetry stores it: its span's, else the one that the client sent, else ""."""
    if tracer is None:
        return identity.client_trace.get()
    from opentelemetry.trace import get_current_span

    context = get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else identity.client_trace.get()
