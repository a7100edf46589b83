"""Read-only admin pages for telemetry."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from telemetry import page_memory, queries, wording
from telemetry.alerts import admin as _alerts_admin  # noqa: F401 (registers its pages)
from telemetry.audit_table import audit_table
from telemetry.dashboard import dashboard
from telemetry.figure import Figure, Group
from telemetry.filters import (
    CallTransportFilter,
    KeyFilter,
    MinuteFilter,
    TimeFilter,
    ToolFilter,
    TransportFilter,
    chosen_range,
)
from telemetry.measurement import FIGURES, CallOutcome
from telemetry.models import KeptTool, RejectedKey, TelemetryRecord, TokenAudit, WithheldField
from telemetry.read_only_admin import TelemetryAdmin, badge


def _column(figure: Figure) -> Any:
    """An admin column. A figure without a unit is a text or a boolean, which Django formats itself."""
    if figure.unit is None:
        return figure.field
    label = f"{figure.label}, formula estimate" if figure.is_estimate else figure.label

    @admin.display(description=label, ordering=figure.field)
    def column(record: Any) -> str:
        return wording.in_unit(getattr(record, figure.field), figure.unit)

    column.__name__ = figure.field
    return column


COLUMNS = {name: _column(figure) for name, figure in FIGURES.items()}
# Figures that a method of TelemetryRecordAdmin shows instead of a generated column.
SHOWN_BY = {"at": "moment", "outcome": "result", "claude_tokens": "claude"}
DERIVED = {Group.TOKENS: ("saved", "reduction", "factor")}


def _fields(group: Group) -> tuple[Any, ...]:
    figures = (SHOWN_BY.get(name, COLUMNS[name]) for name, figure in FIGURES.items() if figure.group is group)
    return (*figures, *DERIVED.get(group, ()))


@admin.register(TelemetryRecord)
class TelemetryRecordAdmin(TelemetryAdmin):
    list_display = (
        "time",
        "operation",
        "result",
        "tokens",
        "reduction",
        *(COLUMNS[name] for name, figure in FIGURES.items() if figure.is_listed),
        "transport",
        "caller",
    )
    list_filter = (
        TimeFilter,
        "outcome",
        "oversized",
        CallTransportFilter,
        ("operation", ToolFilter),
        ("caller", KeyFilter),
    )
    search_fields = ("request_id__startswith",)
    search_help_text = "A request id, or its first characters"
    fieldsets = tuple((group.value or None, {"fields": _fields(group)}) for group in Group)

    def changelist_view(self, request: HttpRequest, extra_context: Mapping[str, Any] | None = None) -> HttpResponse:
        with page_memory.kept():
            return self._changelist(request, extra_context)

    def _changelist(self, request: HttpRequest, extra_context: Mapping[str, Any] | None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            now, time_range = timezone.now(), chosen_range(request.GET)
            calls = response.context_data["cl"].queryset
            response.context_data |= {
                "dashboard": dashboard(calls=calls, since=time_range.since(now), until=now),
                "lacking": queries.lacking(calls.order_by()),
                "time_range": time_range,
            }
        return response

    @admin.display(description="time", ordering="created_at")
    def time(self, record: TelemetryRecord) -> str:
        return wording.moment(record.measurement.at)

    @admin.display(description="time")
    def moment(self, record: TelemetryRecord) -> str:
        return f"{timezone.localtime(record.measurement.at):%Y-%m-%d %H:%M:%S.%f %Z}"

    @admin.display(description="outcome", ordering="outcome")
    def result(self, record: TelemetryRecord) -> SafeString:
        outcome = CallOutcome(record.measurement.outcome)
        return badge(outcome.value, str(outcome.label), record.measurement.error_reason)

    @admin.display(description="tokens, Claude's count", ordering="original_tokens")
    def tokens(self, record: TelemetryRecord) -> str:
        call = record.measurement
        sent = wording.whole(call.claude_tokens or call.estimated_tokens)
        original = call.original_tokens * (call.claude_factor or 1)
        return f"{wording.whole(original)} → {sent}" if call.reduction else sent

    @admin.display(description="Claude's count for the formula estimate")
    def factor(self, record: TelemetryRecord) -> str:
        return wording.factor(record.measurement.claude_factor)

    @admin.display(description="tokens sent, by Claude's count")
    def claude(self, record: TelemetryRecord) -> str:
        return wording.whole(record.measurement.claude_tokens or None)

    @admin.display(description="tokens saved, net, formula estimate")
    def saved(self, record: TelemetryRecord) -> str:
        return wording.whole(record.saved_tokens)

    @admin.display(description="reduction", ordering=F("original_tokens") - F("estimated_tokens"))
    def reduction(self, record: TelemetryRecord) -> str:
        return wording.share(record.measurement.reduction or None)


@admin.register(TokenAudit)
class TokenAuditAdmin(TelemetryAdmin):
    list_display = ("time", "operation", "text_class", "formula", "ours", "actual")
    list_display_links = ("time", "operation")
    list_filter = (
        ("text_class", admin.AllValuesFieldListFilter),
        "source",
        ("operation", admin.AllValuesFieldListFilter),
    )
    fields = ("time", "operation", "text_class", "chars", "formula", "ours", "actual", "source")

    def changelist_view(self, request: HttpRequest, extra_context: Mapping[str, Any] | None = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        # The redirect after an invalid filter has no context.
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            listed = response.context_data["cl"].queryset
            response.context_data["audit_table"] = audit_table(listed)
        return response

    @admin.display(description="time", ordering="at")
    def time(self, audit: TokenAudit) -> str:
        return wording.moment(audit.at)

    @admin.display(description="formula", ordering="formula_tokens")
    def formula(self, audit: TokenAudit) -> str:
        return wording.compared(audit.formula_tokens, audit.actual_tokens)

    @admin.display(description="our count", ordering="claude_tokens")
    def ours(self, audit: TokenAudit) -> str:
        return wording.compared(audit.claude_tokens, audit.actual_tokens)

    @admin.display(description="actual", ordering="actual_tokens")
    def actual(self, audit: TokenAudit) -> str:
        return wording.whole(audit.actual_tokens)


@admin.register(RejectedKey)
class RejectedKeyAdmin(TelemetryAdmin):
    list_display = ("time", "address", "tried", "transport", "begins_with")
    list_display_links = ("time", "address")
    list_filter = (MinuteFilter, TransportFilter)
    search_fields = ("address__startswith", "hint__startswith")
    search_help_text = "The first characters of an address or a key"
    fields = ("time", "address", "tried", "last_at", "transport", "begins_with")

    @admin.display(description="time", ordering="minute")
    def time(self, rejected: RejectedKey) -> str:
        return wording.minute(rejected.minute)

    @admin.display(description="attempts", ordering="attempts")
    def tried(self, rejected: RejectedKey) -> str:
        return wording.whole(rejected.attempts)

    @admin.display(description="key begins with", ordering="hint")
    def begins_with(self, rejected: RejectedKey) -> str:
        return f"{rejected.hint}…" if rejected.hint else wording.NOTHING


@admin.register(WithheldField)
class WithheldFieldAdmin(TelemetryAdmin):
    """How often each field was redacted."""

    list_display = ("day", "operation", "shown_field", "kind", "how", "times")
    list_display_links = ("day", "operation")
    list_filter = (
        "day",
        ("operation", admin.AllValuesFieldListFilter),
        ("kind", admin.AllValuesFieldListFilter),
        "how",
    )
    date_hierarchy = "day"
    search_fields = ("field",)
    search_help_text = "Part of a field's name"
    fields = ("day", "operation", "shown_field", "kind", "how", "times")

    @admin.display(description="field", ordering="field")
    def shown_field(self, row: WithheldField) -> str:
        return row.field or "(the text itself)"

    @admin.display(description="times", ordering="count")
    def times(self, row: WithheldField) -> str:
        return wording.whole(row.count)


@admin.register(KeptTool)
class KeptToolAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """The tools whose masked arguments are stored for successful calls too."""

    list_display = ("__str__", "changed_at")
