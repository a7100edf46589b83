"""Saved views: named addresses of pages, for their owner or for all staff."""

from urllib.parse import urlsplit

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from telemetry import access
from telemetry.models import SavedView


def seen_by(user: object) -> list[SavedView]:
    """A user's own views, and those that others share."""
    return list(SavedView.objects.filter(Q(owner=user) | Q(is_shared=True)).select_related("owner")[:100])


@require_POST
def save(request: HttpRequest) -> HttpResponseBase:
    """Fields of the form: name, address, shared."""
    if refused := access.refusal(request, access.SEE_CALLS):
        return refused
    assert request.user.is_authenticated
    name, address = request.POST.get("name", "").strip()[:80], request.POST.get("address", "")
    if not _is_ours(address):
        return HttpResponse(
            f"address={address[:100]!r} is not a page of Sluice. Expected: a path that starts with /telemetry/. "
            "Save the view from its page.",
            status=400,
            content_type="text/plain; charset=utf-8",
        )
    if not name:
        messages.error(request, "The view has no name, so it is not saved. Enter one and save again.")
        return HttpResponseRedirect(address)
    saved = SavedView.objects.create(
        name=name, owner=request.user, address=address, is_shared=bool(request.POST.get("shared"))
    )
    messages.success(request, f"Saved as “{name}”. It is in the menu ⋯ of every page.")
    return HttpResponseRedirect(saved.link)


@require_POST
def delete(request: HttpRequest, number: int) -> HttpResponseBase:
    """Only its owner can delete a view."""
    if refused := access.refusal(request, access.SEE_CALLS):
        return refused
    assert request.user.is_authenticated
    view = SavedView.objects.filter(pk=number, owner=request.user).first()
    if view is None:
        raise Http404
    view.delete()
    messages.success(request, f"Deleted the view “{view.name}”.")
    return HttpResponseRedirect(view.address)


def _is_ours(address: str) -> bool:
    path = urlsplit(address).path
    is_here = url_has_allowed_host_and_scheme(address, allowed_hosts=None) and not urlsplit(address).netloc
    return is_here and path.startswith("/telemetry/") and len(address) <= 2000
