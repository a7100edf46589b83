"""The admin page on which ops staff set how upstream pages a list. A test reads the first pages, and does not store the
paging."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse

from context_protection.configuration.revisions import bump_on_commit
from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.operations import calling_of, tool_name
from gateway.connectors.openapi.paging_form import PagingForm, initial
from gateway.connectors.openapi.paging_trial import PagingTrial, try_paging


class PagingPages:
    def __init__(self, model_admin: admin.ModelAdmin[Any]) -> None:
        self.admin = model_admin

    def urls(self) -> list[URLPattern]:
        view = self.admin.admin_site.admin_view(self.page)
        return [path("<int:object_id>/paging/", view, name="openapi_paging")]

    def page(self, request: HttpRequest, object_id: int) -> HttpResponse:
        row = get_object_or_404(ImportedOperation.objects.select_related("api__upstream"), pk=object_id)
        if not self.admin.has_change_permission(request, row):
            raise PermissionDenied("openapi.change_importedoperation")
        beginning = initial(row.paging, row.documented)
        form = PagingForm(request.POST if request.method == "POST" else None, initial=beginning)
        trial = None
        if request.method == "POST" and form.is_valid():
            if "test" not in request.POST:
                return self._saved(request, row, form)
            trial = _run_trial(row, form)
        tool = tool_name(row.api.upstream.name, row.name)
        context = {
            **self.admin.admin_site.each_context(request),
            "opts": self.admin.opts,
            "title": f"Paging of {tool}",
            "form": form,
            "row": row,
            "trial": trial,
            "parameters": _query_parameters(row),
        }
        return render(request, "admin/openapi/paging.html", context)

    def _saved(self, request: HttpRequest, row: ImportedOperation, form: PagingForm) -> HttpResponse:
        row.paging = form.setting
        row.save()
        bump_on_commit()
        self.admin.log_change(request, row, "Set its paging.")
        messages.success(request, "Saved. The next call uses this paging.")
        return HttpResponseRedirect(reverse("admin:openapi_importedoperation_change", args=[row.pk]))


def _run_trial(row: ImportedOperation, form: PagingForm) -> PagingTrial:
    """The first pages, read with the entered paging."""
    row.paging = form.setting
    calling = calling_of(row, row.api.upstream.connection())
    return async_to_sync(try_paging)(calling, form.cleaned_data["arguments"])


def _query_parameters(row: ImportedOperation) -> list[str]:
    """The query's parameters, including those that Sluice sets itself."""
    operation = row.documented
    own = [place.name for place in operation.places.values() if place.location == "query"]
    return sorted({*own, *(operation.paging.parameters if operation.paging else ())})
