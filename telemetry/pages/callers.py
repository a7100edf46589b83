"""The list of keys."""

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import queries, wording
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.group_table import group_table
from telemetry.pages.overview import nothing
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Table
from telemetry.states import State

BY = ("key",)


@require_safe
@page(since_first=queries.first_call_at)
def callers(request: HttpRequest, address: Address) -> HttpResponseBase:
    if form := export.wanted(request):
        return export.exported(_table(address), form, "callers")
    groups = guarded("Keys", lambda: _table(address))
    used = f"{wording.plural(groups.content.count, 'key')} used {address.during}." if groups.content else ""
    return show(
        request,
        address,
        "telemetry/callers.html",
        title="Callers",
        state=State.ERROR if groups.failure else None,
        sentence=UNREADABLE if groups.failure else used,
        exports=export.FORMS,
        groups=groups,
    )


def _table(address: Address) -> Table:
    return group_table(address, address.selection, BY, title="Keys", empty=nothing(address))
