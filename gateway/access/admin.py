"""API keys in the admin. The secret is shown once, at creation; keys are revoked, not deleted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from context_protection.configuration import changes
from context_protection.configuration.changes import Change, difference
from context_protection.history import HistoryAdmin
from gateway.access.forms import ApiKeyForm, ToolSetForm
from gateway.access.keys import digest, new_key, prefix
from gateway.access.models import ApiKey, ConnectorSwitch, ToolSet
from gateway.access.promises import broken_by_hiding
from gateway.access.secret_page import secret_page

ABOUT_TOOLS = "The tools that clients of this key see. A change applies to the next call."
NO_SET_YET = "There is no tool set yet, so every key sees all tools. Add a set, and choose it on the page of a key."
ABOUT_PROJECTS = "The source trees whose files this key may read. A new key reads none."
ABOUT_SECRETS = "Door codes, passwords and other secrets are withheld from every key, except for the fields named here."


@admin.register(ApiKey)
class ApiKeyAdmin(HistoryAdmin):
    form = ApiKeyForm
    list_display = ("name", "owner", "prefix", "created_at", "expires_at", "revealed", "state")
    search_fields = ("name", "prefix")
    readonly_fields = ("prefix", "created_at", "revoked_at")
    fieldsets = (
        (None, {"fields": ("name", "owner", "prefix", "created_at", "expires_at", "revoked_at", "daily_tokens")}),
        (
            "Tools",
            {"fields": ("reads_only", "tool_sets", "allowed_tools", "hidden_tools"), "description": ABOUT_TOOLS},
        ),
        ("Tool list over MCP", {"fields": ("tool_listing", "pinned_tools"), "classes": ("collapse",)}),
        (
            "Projects",
            {
                "fields": ("reads_all_projects", "projects"),
                "description": ABOUT_PROJECTS,
                "classes": ("collapse",),
            },
        ),
        ("Over REST", {"fields": ("may_read_telemetry", "may_read_configuration"), "classes": ("collapse",)}),
        ("Secrets", {"fields": ("reveal",), "description": ABOUT_SECRETS, "classes": ("collapse",)}),
    )

    @admin.display(description="Revealed fields")
    def revealed(self, key: ApiKey) -> str:
        return ", ".join(key.reveal)

    @admin.display(description="State")
    def state(self, key: ApiKey) -> str:
        return key.state(timezone.now())[1]

    @admin.display(description="Revoke")
    def revocation(self, key: ApiKey) -> SafeString | str:
        """A link to the page that shows what uses the key, and asks for a reason."""
        return "" if key.revoked_at else format_html('<a href="{}">Revoke…</a>', reverse("keys:revoke", args=[key.pk]))

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return (*self.list_display, *(("revocation",) if self.has_change_permission(request) else ()))

    def save_model(self, request: HttpRequest, obj: ApiKey, form: ModelForm[ApiKey], change: bool) -> None:
        if not change:
            request.new_secret = secret = new_key()  # type: ignore[attr-defined]  # for response_add
            obj.digest, obj.prefix = digest(secret), prefix(secret)
        for sentence in broken_by_hiding(obj.hidden_tools):
            messages.warning(request, sentence)
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Reports a change of the key's tool sets, which its history does not have."""
        key, before = form.instance, _set_names(form.instance)
        super().save_related(request, form, formsets, change)
        if (after := _set_names(key)) != before:
            by, differences = request.user.get_username(), [difference("tool_sets", before, after)]
            changes.tell(Change(key, key.history.latest(), "changed", by, differences))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The form for a new key collapses rarely needed fields, and omits the read-only ones."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is not None:
            return [(title, {**more, "classes": ()}) for title, more in fieldsets]
        return [
            (title, {**more, "fields": [each for each in more["fields"] if each not in self.readonly_fields]})
            for title, more in fieldsets
        ]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Shows only the button Save, because the page after it shows the secret, not another form."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        added: HttpResponse = super().add_view(request, form_url, {**buttons, **(extra_context or {})})
        return added

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Shows the secret directly, because a redirect would have to store it."""
        return secret_page(request, obj, request.new_secret)  # type: ignore[attr-defined]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keys are revoked, not deleted, so that telemetry can still show their names."""
        return False


def _set_names(key: ApiKey) -> str:
    return ", ".join(key.tool_sets.order_by("name").values_list("name", flat=True))


@admin.register(ToolSet)
class ToolSetAdmin(HistoryAdmin):
    form = ToolSetForm
    list_display = ("name", "size", "keys")
    search_fields = ("name",)
    delete_confirmation_template = "admin/access/toolset/delete.html"
    delete_selected_confirmation_template = "admin/access/toolset/delete_selected.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        page = {"title": "Tool sets", "when_empty": NO_SET_YET}
        response: HttpResponse = super().changelist_view(request, {**page, **(extra_context or {})})
        return response

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Protects a set that keys use. The page then names these keys, and has no button to delete the set."""
        found, counts, missing, protected = super().get_deleted_objects(objs, request)
        used = [f"{each}, used by the key {key}" for each in objs for key in each.used_by]
        return found, counts, missing, [*protected, *used]

    @admin.display(description="Tools")
    def size(self, each: ToolSet) -> int:
        return len(each.tools)

    @admin.display(description="Used by")
    def keys(self, each: ToolSet) -> str:
        return ", ".join(key.name for key in each.used_by)


@admin.register(ConnectorSwitch)
class ConnectorSwitchAdmin(HistoryAdmin):
    list_display = ("connector", "is_on")
    fields = ("connector", "is_on")
    readonly_fields = ("connector",)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, {"title": "Connectors", **(extra_context or {})})
        return response

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
