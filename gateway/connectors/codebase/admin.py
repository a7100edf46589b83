"""Projects in the admin: their folders and the progress of their indexes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from context_protection.history import HistoryAdmin
from gateway.access.models import ApiKey
from gateway.connectors.codebase.index.index_place import IndexFailed
from gateway.connectors.codebase.indexing import index_places, states
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus, Progress

BY_COMMAND = (
    "Projects are added by a command on this machine: manage.py project add NAME PATH. To add them here too, set "
    "PROJECT_ROOTS to the folders that may contain projects, and restart Sluice."
)
HERE = "No project has been added yet."
IN_WORDS = {
    IndexStatus.NOT_STARTED: "not begun",
    IndexStatus.IN_PROGRESS: "being indexed",
    IndexStatus.COMPLETE: "up to date",
    IndexStatus.ERROR: "failed",
}


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Project
        fields = ("name", "path")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "path" in self.fields:
            self.fields["path"].help_text = f"The root folder of a git repository, below {_roots()}. It is only read."


@admin.register(Project)
class ProjectAdmin(HistoryAdmin):
    form = ProjectForm
    list_display = ("name", "state", "progress", "files", "last_error", "path")
    list_select_related = ("index",)
    search_fields = ("name", "path")
    actions = ("make_anew",)
    readonly_fields = ("state", "progress", "files", "last_error", "commit", "checked_at", "keys", "created_at")
    fieldsets = (
        (None, {"fields": ("name", "path", "keys", "created_at")}),
        ("Index", {"fields": ("state", "progress", "files", "last_error", "commit", "checked_at")}),
    )

    class Media:
        css = {"all": ("codebase/projects.css",)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        page = {"title": "Projects", "note": "" if settings.PROJECT_ROOTS else BY_COMMAND, "when_empty": HERE}
        response: HttpResponse = super().changelist_view(request, {**page, **(extra_context or {})})
        return response

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only if PROJECT_ROOTS is set: otherwise anyone who may add projects could make Sluice read any folder of this
        machine."""
        return bool(settings.PROJECT_ROOTS) and super().has_add_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """An existing project keeps its name, as API keys refer to projects by name. Without PROJECT_ROOTS it keeps its
        path too, for the reason that `has_add_permission` gives."""
        fixed = () if obj is None else ("name",) if settings.PROJECT_ROOTS else ("name", "path")
        return (*self.readonly_fields, *fixed)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return super().get_fieldsets(request, obj) if obj else [(None, {"fields": ("name", "path")})]

    @admin.action(description="Rebuild the index", permissions=["change"])
    def make_anew(self, request: HttpRequest, chosen: QuerySet[Project]) -> None:
        for project in chosen:
            try:
                index_places.delete(project.pk)
            except IndexFailed as error:
                self.message_user(request, f"{project}: {error}", messages.ERROR)
                return
            states.forget(project.pk)
        self.message_user(request, "The worker starts rebuilding within seconds.")

    @admin.display(description="Index")
    def state(self, project: Project) -> str:
        return IN_WORDS[_progress(project).status]

    @admin.display(description="Progress")
    def progress(self, project: Project) -> SafeString:
        found = _progress(project)
        left = f", {found.remaining:,.0f} s left" if found.remaining else ""
        return format_html(
            '<progress max="100" value="{}" aria-label="{}"></progress> {} %{}',
            *(found.percent, f"Index of {project}", found.percent, left),
        )

    @admin.display(description="Files")
    def files(self, project: Project) -> str:
        found = _progress(project)
        return f"{found.processed_files:,} of {found.total_files:,}"

    @admin.display(description="Last error")
    def last_error(self, project: Project) -> str:
        state = _state(project)
        return state.error if state else ""

    @admin.display(description="Commit")
    def commit(self, project: Project) -> str:
        state = _state(project)
        return state.commit if state else ""

    @admin.display(description="Last checked")
    def checked_at(self, project: Project) -> str | None:
        state = _state(project)
        return localize(localtime(state.checked_at)) if state and state.checked_at else None

    @admin.display(description="Keys that read it")
    def keys(self, project: Project) -> str:
        active = ApiKey.objects.filter(revoked_at=None)
        return ", ".join(key.name for key in active if key.reads_all_projects or project.name in key.projects) or "none"


def _state(project: Project) -> IndexState | None:
    """None for a new project, until the worker first looks at it."""
    return getattr(project, "index", None)


def _progress(project: Project) -> Progress:
    state = _state(project)
    return states.progress(state) if state else Progress()


def _roots() -> str:
    return " or ".join(settings.PROJECT_ROOTS)
