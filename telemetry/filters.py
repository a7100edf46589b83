"""The filters of the admin's lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from telemetry import queries
from telemetry.measurement import OUTSIDE_FIGURES

PARAMETER = "range"


@dataclass(frozen=True, slots=True)
class TimeRange:
    key: str
    label: str
    length: timedelta | None  # None: all that is stored

    def since(self, now: datetime) -> datetime | None:
        return None if self.length is None else now - self.length


EVER = TimeRange("any", "Any time", None)
DAY = TimeRange("24h", "Last 24 hours", timedelta(hours=24))
RANGES = (
    TimeRange("1h", "Last hour", timedelta(hours=1)),
    DAY,
    TimeRange("7d", "Last 7 days", timedelta(days=7)),
    TimeRange("30d", "Last 30 days", timedelta(days=30)),
    EVER,
)


def chosen_range(parameters: Mapping[str, Any]) -> TimeRange:
    """The range that a page's parameters name. Default: the last day, or any time for a search."""
    default = EVER if parameters.get(SEARCH_VAR) else DAY
    return next((each for each in RANGES if each.key == parameters.get(PARAMETER)), default)


class TimeFilter(admin.SimpleListFilter):
    column = "created_at"
    title = "time"
    parameter_name = PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(each.key, each.label) for each in RANGES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        since = chosen_range(request.GET).since(timezone.now())
        return queryset if since is None else queryset.filter(**{f"{self.column}__gte": since})

    def choices(self, changelist: ChangeList) -> Any:
        """Omits Django's "All": "Any time" replaces it, and is not the default."""
        chosen = chosen_range(self.request.GET)
        for each in RANGES:
            yield {
                "selected": each == chosen,
                "query_string": changelist.get_query_string({PARAMETER: each.key}),
                "display": each.label,
            }


class MinuteFilter(TimeFilter):
    column = "minute"


class NamesFilter(admin.AllValuesFieldListFilter):
    """Offers the values of `dimension` in the rollups. Finding them in the calls would take seconds."""

    dimension: str

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.lookup_choices: Any = queries.names(self.dimension)


class ToolFilter(NamesFilter):
    dimension = "tool"


class KeyFilter(NamesFilter):
    dimension = "key"


class TransportFilter(admin.SimpleListFilter):
    """Offers the stored transports, because only the gateway knows which ones exist."""

    title = "transport"
    parameter_name = "door__exact"  # bookmarked URLs contain this name, or `door`

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        if "door" in params:
            params.setdefault(self.parameter_name, params.pop("door"))
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        stored = model_admin.model.objects.order_by("transport").values_list("transport", flat=True).distinct()
        return [(transport, transport) for transport in stored]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(transport=self.value()) if self.value() else queryset


class CallTransportFilter(TransportFilter):
    """For calls. Those that no figure counts are listed only in a search, or if their transport is chosen."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(transport, transport) for transport in (*queries.names("transport"), *OUTSIDE_FIGURES)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() or request.GET.get(SEARCH_VAR):
            return super().queryset(request, queryset)
        return queryset.exclude(transport__in=OUTSIDE_FIGURES)
