"""An export of all matching calls, which are read from the database while they are sent."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.http import HttpResponseBase

from telemetry.measurement import FIGURES
from telemetry.pages import export
from telemetry.queries import Selection, Span, select

READ_AT_ONCE = 1_000  # rows
KEYS = (*FIGURES, "claude_original_tokens", "saved_tokens", "claude_saved_tokens")
COLUMNS = tuple(FIGURES[key].field if key in FIGURES else key for key in KEYS)


def export_calls(span: Span, selection: Selection, text: str, form: str) -> HttpResponseBase:
    return export.stream(KEYS, _rows(span, selection, text), form, "calls")


def _rows(span: Span, selection: Selection, text: str) -> Iterator[Sequence[Any]]:
    calls = select(span, selection, text).order_by("-created_at", "-pk")
    for row in calls.values_list(*COLUMNS).iterator(chunk_size=READ_AT_ONCE):
        yield [value.isoformat() if key == "at" else value for key, value in zip(KEYS, row, strict=True)]
