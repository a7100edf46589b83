"""Histories in the admin: every version can be looked at; whoever may change the object can go back to one."""

from typing import Any

from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import flatten_fieldsets
from django.http import HttpRequest, HttpResponse
from simple_history.admin import SimpleHistoryAdmin


class HistoryAdmin(SimpleHistoryAdmin):
    """The base of every admin class whose model has a history.

    SimpleHistoryAdmin saves a version for whoever may look at it, with every field that the version has. Here a revert
    is an ordinary change: the change page's own permissions and validation decide. It sets what the form can edit, and
    leaves the rest of the object as it is now, so that a revoked key stays revoked."""

    def history_form_view(
        self, request: HttpRequest, object_id: str, version_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":
            changed: HttpResponse = self.change_view(request, object_id)
            return changed
        shown: HttpResponse = super().history_form_view(request, object_id, version_id, extra_context)
        return shown

    def revert_disabled(self, request: HttpRequest, obj: Any = None) -> bool:
        """Also where the object has been deleted: there is nothing left to change."""
        is_deleted = obj is not None and not self.get_queryset(request).filter(pk=obj.pk).exists()
        return is_deleted or bool(super().revert_disabled(request, obj))

    def render_history_view(
        self, request: HttpRequest, template: str, context: dict[str, Any], **kwargs: Any
    ) -> HttpResponse:
        """Without a button there are no inputs either."""
        shown = context.get("adminform")
        if shown is not None and context["revert_disabled"]:
            fields = flatten_fieldsets(shown.fieldsets)
            context["adminform"] = AdminForm(shown.form, shown.fieldsets, {}, fields, model_admin=self)
        response: HttpResponse = super().render_history_view(request, template, context, **kwargs)
        return response
