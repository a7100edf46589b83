"""The admin pages of imported APIs and their operations."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, JSONField, Q, QuerySet, Sum, TextField
from django.forms import ModelForm, Textarea
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from context_protection.history import HistoryAdmin
from gateway.access import former_names
from gateway.connectors.openapi import observed_fields
from gateway.connectors.openapi.connection_admin import UpstreamApiAdmin
from gateway.connectors.openapi.importer.forms import OptionalJson
from gateway.connectors.openapi.importer.import_pages import ImportPages, connection_address
from gateway.connectors.openapi.importer.import_plan import tool_name_problems
from gateway.connectors.openapi.models import ImportedApi, ImportedOperation
from gateway.connectors.openapi.operations import tool_name
from gateway.connectors.openapi.paging_pages import PagingPages
from gateway.connectors.tool_switches import ToolSwitchForm
from gateway.upstreams.admin import CHANGE_CREDENTIALS
from gateway.upstreams.models import UpstreamApi

# The permissions to add and change everything that an import writes.
IMPORTING = (
    "openapi.add_importedapi",
    "openapi.change_importedapi",
    "openapi.change_importedoperation",
    "upstreams.add_upstreamapi",
    "upstreams.change_upstreamapi",
    CHANGE_CREDENTIALS,
)
admin.site.register(UpstreamApi, UpstreamApiAdmin)  # registered here, as its page shows imported operations
OPERATIONS_PAGE = {
    "title": "Imported operations",
    "when_empty": "No API is imported yet. Import one under Imported APIs: its operations are listed here.",
}
NO_SAVING = {"show_save": False, "show_save_and_continue": False, "show_save_and_add_another": False}


@admin.register(ImportedApi)
class ImportedApiAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # no generic at run time
    list_display = ("__str__", "title", "version", "switched_on", "definition_tokens", "imported_at")
    readonly_fields = (
        "title",
        "version",
        "address",
        "source",
        "imported_at",
        "tools",
        "credentials",
        "document_warnings",
    )
    fieldsets = (
        (None, {"fields": ("title", "version", "address", "source", "imported_at")}),
        ("Tools", {"fields": ("tools", "credentials")}),
        ("Warnings", {"fields": ("document_warnings",)}),
    )
    change_form_template = "admin/openapi/imported_api.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ImportedApi]:
        on = Q(operations__enabled=True, operations__is_gone=False)
        return ImportedApi.objects.select_related("upstream").annotate(
            operation_count=Count("operations", filter=Q(operations__is_gone=False)),
            on_count=Count("operations", filter=on),
            on_tokens=Sum("operations__tokens", filter=on),
        )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perms(IMPORTING)

    def get_urls(self) -> list[URLPattern]:
        return [*ImportPages(self).urls(), *super().get_urls()]

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:openapi_import"))

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        api = ImportedApi.objects.filter(pk=object_id).first() if object_id.isdecimal() else None
        context = {
            **NO_SAVING,
            "title": "Imported API",
            "may_import": self.has_add_permission(request),
            "connection": connection_address(api) if api else "",
        }
        return super().change_view(request, object_id, extra_context=context)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().changelist_view(request, extra_context={"title": "Imported APIs"})

    @admin.display(description="Tools on")
    def switched_on(self, api: Any) -> str:
        return f"{api.on_count:,} of {api.operation_count:,}"

    @admin.display(description="Tokens of definitions")
    def definition_tokens(self, api: Any) -> str:
        return f"{api.on_tokens or 0:,}"

    @admin.display(description="Base address")
    def address(self, api: ImportedApi) -> str:
        return api.upstream.base_url

    @admin.display(description="Operations")
    def tools(self, api: Any) -> str:
        return f"{self.switched_on(api)} switched on, about {self.definition_tokens(api)} tokens of definitions."

    @admin.display(description="Connection")
    def credentials(self, api: ImportedApi) -> str:
        state = "" if api.upstream.enabled else "Switched off: its tools do not exist. "
        return f"{state}Credentials: {api.upstream.get_authentication_display()}."

    @admin.display(description="In the document")
    def document_warnings(self, api: ImportedApi) -> SafeString | str:
        if not api.warnings:
            return "None."
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", ((each,) for each in api.warnings)))


class OperationForm(ToolSwitchForm):
    def clean_name(self) -> str:
        name, api = str(self.cleaned_data["name"]), str(self.instance.api)
        if problem := next(tool_name_problems(api, {tool_name(api, name): name}), None):
            raise ValidationError(problem)
        return name


class OperationRow(ToolSwitchForm):
    """A row of the operations list. Its checkboxes have no visible labels, so each gets an aria-label with its tool and
    field."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:
            return  # the empty form of a list without rows
        tool = tool_name(self.instance.api.upstream.name, self.instance.name)
        for name in ImportedOperationAdmin.list_editable:
            self.fields[name].widget.attrs["aria-label"] = f"{tool}: {name}"


@admin.register(ImportedOperation)
class ImportedOperationAdmin(HistoryAdmin):
    list_display = ("name", "enabled", "pinned", "kind", "tokens", "key", "api", "state")
    list_editable = ("enabled", "pinned")
    list_filter = ("api", "enabled", "pinned", "is_gone")
    list_per_page = 100
    search_fields = ("name", "key", "title", "description")
    actions = ("forget_what_was_learned",)
    form = OperationForm
    change_list_template = "admin/tool_switches.html"
    change_form_template = "admin/openapi/imported_operation.html"
    readonly_fields = ("tool", "key", "kind", "arguments", "document_says", "recognised_paging", "proposed_fields")
    fieldsets = (
        (None, {"fields": ("tool", "key", "kind", "enabled", "pinned")}),
        ("What a model reads", {"fields": ("name", "title", "description", "document_says", "arguments")}),
        ("Previews", {"fields": ("row_fields", "preview_fields", "sections", "proposed_fields")}),
        ("Paging", {"fields": ("paging", "recognised_paging")}),
    )
    formfield_overrides = {
        TextField: {"widget": Textarea(attrs={"rows": 3, "class": "vLargeTextField"})},
        JSONField: {"form_class": OptionalJson},
    }

    class Media:
        css = {"all": ("openapi/operations.css",)}

    def get_urls(self) -> list[URLPattern]:
        return [*PagingPages(self).urls(), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ImportedOperation]:
        return ImportedOperation.objects.select_related("api__upstream")

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context=OPERATIONS_PAGE)
        return response

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, **{"form": OperationRow, **kwargs})

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Operations come from documents only."""
        return False

    # An operation is switched off rather than deleted, so that its edits are not lost. It cannot be deleted alone, but
    # has_delete_permission stays true, since Django checks it when a whole API is deleted.

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        raise PermissionDenied

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        context = {
            "show_delete": False,
            "title": "Imported operation",
            "may_set_paging": self.has_change_permission(request),
        }
        response: HttpResponse = super().change_view(request, object_id, extra_context=context)
        return response

    def save_model(
        self, request: HttpRequest, obj: ImportedOperation, form: ModelForm[ImportedOperation], change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        if "name" in form.changed_data:
            old, new = (tool_name(obj.api.upstream.name, each) for each in (form.initial["name"], obj.name))
            former_names.rename({old: new})
            self.message_user(request, f"Calls of {old} reach {new} for {former_names.DAYS} days.")

    @admin.action(description="Forget what was learned from answers", permissions=["change"])
    def forget_what_was_learned(self, request: HttpRequest, operations: QuerySet[ImportedOperation]) -> None:
        """Discards everything learned from responses: the fields of rows and previews, and whether responses are
        lists."""
        count = observed_fields.forget(operations)
        self.message_user(request, f"{count:,} operations will learn again from their next answers.")

    @admin.display(description="Tool")
    def tool(self, operation: ImportedOperation) -> str:
        return tool_name(operation.api.upstream.name, operation.name)

    @admin.display(description="Kind")
    def kind(self, operation: ImportedOperation) -> str:
        return str(operation.documented.kind)

    @admin.display(description="State")
    def state(self, operation: ImportedOperation) -> str:
        if operation.is_gone:
            return "gone from the document"
        return "on" if operation.enabled else "off"

    @admin.display(description="The document says")
    def document_says(self, operation: ImportedOperation) -> SafeString:
        return format_html("<strong>{}</strong><br>{}", operation.spec.get("title"), operation.spec.get("description"))

    @admin.display(description="Arguments")
    def arguments(self, operation: ImportedOperation) -> SafeString | str:
        parameters, required = operation.spec.get("parameters", {}), operation.spec.get("required", ())
        if not parameters:
            return "None"
        rows = [
            (name, "required" if name in required else "", each.get("description", ""))
            for name, each in parameters.items()
        ]
        body = format_html_join("", '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>', rows)
        return format_html("<table>{}</table>", body)

    @admin.display(description="Recognised")
    def recognised_paging(self, operation: ImportedOperation) -> str:
        paging = operation.documented.paging
        if paging is None:
            return "It does not page."
        return ", ".join(f"{name}: {value}" for name, value in paging.document().items())

    @admin.display(description="Proposed")
    def proposed_fields(self, operation: ImportedOperation) -> SafeString:
        shape = operation.learned or operation.proposed
        source = "from its first answers" if operation.learned else "from its schema" if shape else "not known yet"
        return format_html(
            "Rows, {}: {}<br>Previews add: {}<br>Sections: {}",
            source, *(", ".join(shape.get(name, ())) or "–" for name in ("row", "preview", "sections")),
        )  # fmt: skip
