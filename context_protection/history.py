"""Object histories in the admin: every version can be viewed, and restored by users who may change the object. Every
save and every deletion asks for a reason, which the history stores."""

from typing import Any

from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import flatten_fieldsets
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from simple_history.admin import SimpleHistoryAdmin

from context_protection.reasons import REASON, give_reason, reason_field, reason_in


class HistoryAdmin(SimpleHistoryAdmin):
    """The base of every admin class whose model has a history.

    SimpleHistoryAdmin lets users with the view permission revert, and restores every field of the version. Here a
    revert is an ordinary change, with the change page's permissions and validation. It sets the fields of the form and
    leaves the others as they are now, so that a revoked key stays revoked."""

    delete_confirmation_template = "context_protection/delete_with_reason.html"
    delete_selected_confirmation_template = "context_protection/delete_selected_with_reason.html"

    def needs_reason(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether a save must say why. Subclasses return True for dangerous changes."""
        return False

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form with a field for the reason, which the page shows above its buttons."""
        base = options.pop("form", self.form)
        field = reason_field(is_required=self.needs_reason(request, obj))
        return super().get_form(request, obj, change, form=type(base.__name__, (base,), {REASON: field}), **options)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The fields of a form without fieldsets. The page shows the reason itself."""
        return [name for name in super().get_fields(request, obj) if name != REASON]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        give_reason(obj, reason_in(form.cleaned_data))
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        give_reason(obj, reason_in(request.POST))
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Deletes the objects one by one, so that the history of each stores the reason."""
        for each in queryset:
            self.delete_model(request, each)

    def history_form_view(
        self, request: HttpRequest, object_id: str, version_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":
            changed: HttpResponse = self.change_view(request, object_id)
            return changed
        shown: HttpResponse = super().history_form_view(request, object_id, version_id, extra_context)
        return shown

    def revert_disabled(self, request: HttpRequest, obj: Any = None) -> bool:
        """Also disabled for a deleted object, which cannot be changed."""
        is_deleted = obj is not None and not self.get_queryset(request).filter(pk=obj.pk).exists()
        return is_deleted or bool(super().revert_disabled(request, obj))

    def render_history_view(
        self, request: HttpRequest, template: str, context: dict[str, Any], **kwargs: Any
    ) -> HttpResponse:
        """Renders the fields as read-only text where reverting is disabled."""
        shown = context.get("adminform")
        if shown is not None and context["revert_disabled"]:
            fields = flatten_fieldsets(shown.fieldsets)
            context["adminform"] = AdminForm(shown.form, shown.fieldsets, {}, fields, model_admin=self)
        response: HttpResponse = super().render_history_view(request, template, context, **kwargs)
        return response
