"""The admin base for upstreams: APIs and MCP servers. The names of their tools begin with the upstream's name, so a
rename is confirmed on a page that lists these tools. A button tests the connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode

from gateway.access import former_names
from gateway.catalog.catalog import catalogue
from gateway.connectors.reachability import Reachability
from gateway.upstreams.admin import CredentialAdmin
from gateway.upstreams.models import WithCredential


class UpstreamAdmin(CredentialAdmin):
    """Subclasses define which tools a rename affects, and how the connection is tested."""

    change_form_template = "admin/upstream.html"

    def renamed_tools(self, row: WithCredential, name: str) -> Mapping[str, str]:
        """Maps the old name of each affected tool to its new name."""
        raise NotImplementedError

    def name_problem(self, row: WithCredential, name: str) -> str | None:
        """Why the row cannot have this name, beyond the model's own validation; None if there is no such reason."""
        return None

    def test_connection(self, request: HttpRequest, row: Any) -> Reachability:
        """Tests the connection of the saved row. Blocks until the test has ended."""
        raise NotImplementedError

    # -- Renaming -----------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(self.rename_view)
        return [path("<int:object_id>/rename/", page, name=self._address("rename")), *super().get_urls()]

    def save_model(
        self, request: HttpRequest, obj: WithCredential, form: ModelForm[WithCredential], change: bool
    ) -> None:
        """Does not save a new name that would rename tools: `response_change` redirects to the confirmation page."""
        before = type(obj)._default_manager.get(pk=obj.pk) if change else None
        if before is not None and self.renamed_tools(before, obj.name):
            request.asked_name, obj.name = obj.name, before.name  # type: ignore[attr-defined]
            form.changed_data.remove("name")
        super().save_model(request, obj, form, change)

    def response_change(self, request: HttpRequest, obj: WithCredential) -> HttpResponse:
        asked = getattr(request, "asked_name", None)
        if asked is not None:
            address = reverse(f"admin:{self._address('rename')}", args=[obj.pk])
            return HttpResponseRedirect(f"{address}?{urlencode({'name': asked})}")
        if "_test" in request.POST:
            return self._tested(request, obj)
        changed: HttpResponse = super().response_change(request, obj)
        return changed

    def rename_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        row = get_object_or_404(self.model, pk=object_id)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        given = request.POST if request.method == "POST" else request.GET
        name = given.get("name", row.name).strip()
        problems = self._name_problems(row, name)
        names = {} if problems else self.renamed_tools(row, name)
        is_confirmed = "_rename" in request.POST and request.POST.get("shown") == name
        if is_confirmed and not problems and name != row.name:
            return self._renamed(request, row, name, names)
        on = [(old, new) for old, new in names.items() if catalogue.find(old) is not None]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Rename {row.name}",
            "row": row,
            "name": name,
            "problems": problems,
            "is_shown": not problems and name != row.name,
            "on": on,
            "off": len(names) - len(on),
            "days": former_names.DAYS,
        }
        return render(request, "admin/upstream_rename.html", context)

    def _name_problems(self, row: WithCredential, name: str) -> list[str]:
        if name == row.name:
            return []
        draft = self.model._default_manager.get(pk=row.pk)
        draft.name = name
        try:
            draft.full_clean()
        except ValidationError as error:
            if found := error.message_dict.get("name"):
                return found
        problem = self.name_problem(row, name)
        return [problem] if problem else []

    def _renamed(self, request: HttpRequest, row: WithCredential, name: str, names: Mapping[str, str]) -> HttpResponse:
        before, row.name = row.name, name
        with transaction.atomic():
            row.save()
            former_names.rename(names)
            self.log_change(request, row, f"Renamed from {before} to {name}, with {len(names):,} tools.")
        renamed = f"Renamed {before} to {name}, and {len(names):,} of its tools with it, also in budgets and keys."
        messages.success(request, f"{renamed} Their old names keep working for {former_names.DAYS} days.")
        return HttpResponseRedirect(reverse(f"admin:{self._address('change')}", args=[row.pk]))

    def _address(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    # -- Testing the connection ---------------------------------------------------------------------

    def _tested(self, request: HttpRequest, row: WithCredential) -> HttpResponse:
        found = self.test_connection(request, row)
        messages.add_message(request, messages.ERROR if found.failure else messages.SUCCESS, found.in_words)
        return HttpResponseRedirect(request.path)
