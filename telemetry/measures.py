"""The sums over a group of calls. Raw rows are summed by these aggregates; rollups have a column for each."""

from typing import Any

from django.db.models import Count, Q, Sum

from telemetry.measurement import FIGURES, CallOutcome

ANSWERED_LIST = Q(kind="list") & ~Q(outcome=CallOutcome.ERROR)

COUNTS: dict[str, Any] = {
    "calls": Count("pk"),
    "oversized_calls": Count("pk", filter=Q(oversized=True)),
    "cached_calls": Count("pk", filter=Q(is_cached=True)),
    "list_calls": Count("pk", filter=ANSWERED_LIST),
    "paginated_list_calls": Count("pk", filter=ANSWERED_LIST & Q(pagination_used=True)),
    "later_pages": Count("pk", filter=Q(page__gt=1)),
    "counted_calls": Count("pk", filter=Q(claude_tokens__gt=0)),
    "counted_estimate": Sum("estimated_tokens", filter=Q(claude_tokens__gt=0), default=0),
}
TOTALS: dict[str, Any] = {
    f"total_{name}": Sum(figure.field, default=0) for name, figure in FIGURES.items() if figure.is_totalled
}
MEASURES = {**COUNTS, **TOTALS}
FRACTIONAL = frozenset(
    f"total_{name}" for name, figure in FIGURES.items() if figure.is_totalled and figure.type is float
)
