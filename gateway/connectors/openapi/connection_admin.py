"""The admin of upstream APIs: address, credentials and limits of what imported operations call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from gateway.connectors.openapi import upstream_state
from gateway.connectors.openapi.importer.import_plan import api_name_problem, tool_name_problems
from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.operations import tool_name
from gateway.connectors.openapi.reachability import testable, try_connection
from gateway.connectors.reachability import Reachability
from gateway.connectors.upstream_admin import UpstreamAdmin
from gateway.upstreams.admin import AUTHENTICATION, CredentialForm
from gateway.upstreams.connections import KIND_FIELDS, AuthKind
from gateway.upstreams.models import LIMIT_FIELDS, UpstreamApi, WithCredential

FIELDS_OF_ALL_KINDS = ("name", "base_url", "enabled", "authentication", *LIMIT_FIELDS)
PROPOSED = frozenset({"authentication", "parameter_name", "user_name"})
NONE_YET = "No API is connected yet. Import one under Imported APIs: its connection is listed here."
BASE_ADDRESS = ("", "The base address")


class UpstreamApiForm(CredentialForm):
    tested_with = forms.ChoiceField(
        required=False,
        label="Test with",
        help_text="The call that “Save and test the connection” makes, once, with the credentials above.",
    )

    class Meta:
        model = UpstreamApi
        fields = (*FIELDS_OF_ALL_KINDS, *sorted(KIND_FIELDS))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "tested_with" in self.fields:
            choices = testable(self.instance.pk) if self.instance.pk else []
            self.fields["tested_with"].choices = [BASE_ADDRESS, *choices]  # type: ignore[attr-defined]


class UpstreamApiAdmin(UpstreamAdmin):
    form = UpstreamApiForm
    change_form_template = "admin/openapi/upstream_api.html"
    list_display = ("name", "state", "last_error", "enabled", "base_url", "authentication")
    search_fields = ("name", "base_url")
    readonly_fields = ("secret_state", "state", "last_error")
    fieldsets = (
        (None, {"fields": ("name", "base_url", "enabled")}),
        AUTHENTICATION,
        (
            "Limits of a call",
            {"fields": ("connect_seconds", "read_seconds", "total_seconds", "most_megabytes", "attempts")},
        ),
        ("Rate", {"fields": ("rate_calls", "rate_seconds"), "description": "For all processes together."}),
        ("Response cache", {"fields": ("keep_seconds",)}),
        ("State", {"fields": ("state", "last_error", "tested_with")}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        page = {"title": "Upstream APIs", "when_empty": NONE_YET}
        response: HttpResponse = super().changelist_view(request, {**page, **(extra_context or {})})
        return response

    def get_fieldsets(self, request: HttpRequest, obj: WithCredential | None = None) -> Any:
        """Hides the state of an API that is not saved yet, and the test from users who may only view."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets[:-1]
        if self.has_change_permission(request, obj):
            return fieldsets
        return [*fieldsets[:-1], ("State", {"fields": ("state", "last_error")})]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The connection. If it has no authentication, the query of the page's URL prefills the form."""
        row = super().get_object(request, object_id, from_field)
        if request.method == "GET" and row is not None and row.authentication == AuthKind.NONE.value:
            for name in PROPOSED.intersection(request.GET):
                setattr(row, name, request.GET[name])
        return row

    def renamed_tools(self, row: WithCredential, name: str) -> Mapping[str, str]:
        if name == row.name:
            return {}
        own = ImportedOperation.objects.filter(api__upstream=row.pk, is_gone=False).order_by("name")
        return {tool_name(row.name, each): tool_name(name, each) for each in own.values_list("name", flat=True)}

    def name_problem(self, row: WithCredential, name: str) -> str | None:
        tools = dict.fromkeys(self.renamed_tools(row, name).values(), name)
        return api_name_problem(name) or next(tool_name_problems(row.name, tools), None)

    def test_connection(self, request: HttpRequest, row: UpstreamApi) -> Reachability:
        chosen = request.POST.get("tested_with", "")
        operations = ImportedOperation.objects.filter(api__upstream=row.pk).select_related("api__upstream")
        operation = operations.filter(pk=chosen).first() if chosen.isdecimal() else None
        return async_to_sync(try_connection)(row.connection(), operation)

    @admin.display(description="State")
    def state(self, api: UpstreamApi) -> str:
        return upstream_state.state_of(api).state if api.enabled else "It is switched off."

    @admin.display(description="Last error")
    def last_error(self, api: UpstreamApi) -> str:
        return upstream_state.state_of(api).last_error
