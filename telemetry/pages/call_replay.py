"""Runs one recorded call again, and shows the answer beside the record."""

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from telemetry import access
from telemetry.pages.address import Address
from telemetry.pages.call import find, shown
from telemetry.pages.call_arguments import SEE_VALUES, arguments_of
from telemetry.pages.replay_offers import REPLAY, offer, run_again
from telemetry.pages.shell import page


@require_POST
@page(needs=REPLAY)
def replay(request: HttpRequest, address: Address, request_id: str) -> HttpResponseBase:
    if refused := access.refusal(request, SEE_VALUES) or access.refusal(request, access.SEE_CALLS):
        return refused
    found = find(request, request_id)
    call = found.record.measurement
    arguments = arguments_of(call, may_see_values=True)
    offered = offer(request, call, arguments)
    if offered is not None and not offered.why_not:
        offered = run_again(request, call, arguments, offered)
    return shown(request, address, found, arguments, offered)
