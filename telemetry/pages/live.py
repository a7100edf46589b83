"""The page of the live tail, and the address that it polls if no WebSocket opens."""

from datetime import timedelta

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_safe

from telemetry import queries
from telemetry.pages.address import Address, CallFilter
from telemetry.pages.call_rows import CallRow
from telemetry.pages.live_tail import SHOWN, row_as_json
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.shell import page, show
from telemetry.queries import Newer
from telemetry.states import State

LOOKED_BACK = timedelta(hours=1)
SHOWN_FIRST = 50
FAILED = CallFilter("outcome", "error")


@require_safe
@page(default_range="1h")
def live(request: HttpRequest, address: Address) -> HttpResponseBase:
    newest = guarded("Newest calls", lambda: _newer(address, None, SHOWN_FIRST))
    found = newest.content or Newer((), 0, 0)
    is_failed_only = FAILED in address.filters
    return show(
        request,
        address,
        "telemetry/live.html",
        title="Live",
        state=State.ERROR if newest.failure else None,
        sentence=UNREADABLE if newest.failure else "",
        has_comparison=False,
        rows=[CallRow.of(each.measurement, address) for each in found.records],
        last=found.last,
        most=SHOWN,
        is_failed_only=is_failed_only,
        failed_only=address.without(FAILED) if is_failed_only else address.with_filter(FAILED),
        calls_link=address.to("calls"),
    )


@require_safe
@page(default_range="1h")
def poll(request: HttpRequest, address: Address) -> HttpResponseBase:
    """The calls stored after `after`, a number that the page or an earlier answer gave."""
    after = request.GET.get("after", "")
    if not after.isdecimal() or len(after) > 18:
        error = f"after is {after[:40]!r}; expected the number `last` of the page or of an earlier answer."
        return JsonResponse({"error": error}, status=400)
    found = _newer(address, int(after), SHOWN)
    rows = [row_as_json(CallRow.of(each.measurement, address)) for each in found.records]
    answer = JsonResponse({"rows": rows, "count": found.count, "last": found.last})
    answer["Cache-Control"] = "no-store"
    return answer


def _newer(address: Address, after: int | None, size: int) -> Newer:
    return queries.stored_after(after, address.selection, since=address.now - LOOKED_BACK, size=size)
