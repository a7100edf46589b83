"""The two pages of an import: where the document is, and a preview of the result. No operation is stored before the
preview is submitted."""

import zlib
from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core import signing
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.debug import sensitive_post_parameters

from context_protection.core.errors import CallError
from gateway.connectors.openapi import documents, import_plan
from gateway.connectors.openapi.credentials import in_words, proposed
from gateway.connectors.openapi.download import fetched
from gateway.connectors.openapi.forms import Choices, CredentialsForm, DocumentForm
from gateway.connectors.openapi.import_plan import Plan
from gateway.connectors.openapi.models import DRAFTS_LIVE, ImportDraft, ImportedApi
from gateway.connectors.openapi.preview_rows import counts, rows
from gateway.upstreams.connections import Kind
from gateway.upstreams.models import UpstreamApi

SALT = "gateway.connectors.openapi.drafts"


class ImportPages:
    """The import pages, in the admin of imported APIs."""

    def __init__(self, admin: "ModelAdmin[ImportedApi]") -> None:
        self.admin = admin

    def urls(self) -> list[URLPattern]:
        def page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
            return self.admin.admin_site.admin_view(view)

        return [
            path("import/", page(self.document), name="openapi_import"),
            path("import/<str:token>/", page(self.preview), name="openapi_preview"),
        ]

    def document(self, request: HttpRequest) -> HttpResponse:
        self._check(request)
        form = DocumentForm(request.POST or None, request.FILES or None, initial=_initial_values(request))
        if request.method == "POST" and form.is_valid():
            try:
                token = _token_of(request, _draft(form))
            except CallError as error:
                form.add_error(None, _text_of(error))
            else:
                return HttpResponseRedirect(reverse("admin:openapi_preview", args=[token]))
        return self._page(request, "import", title="Import an API", form=form)

    @method_decorator(sensitive_post_parameters("secret"))
    def preview(self, request: HttpRequest, token: str) -> HttpResponse:
        self._check(request)
        draft = _draft_behind(request, token)
        if draft is None:
            messages.warning(request, "That document is not kept any more. Read it again.")
            return HttpResponseRedirect(reverse("admin:openapi_import"))
        is_sent = request.method == "POST"
        base_url = request.POST.get("base_url", draft.base_url).strip()
        plan = import_plan.plan(
            zlib.decompress(draft.document), name=draft.name, source=draft.source, base_url=base_url
        )
        connection = UpstreamApi.objects.filter(name=plan.name).exclude(authentication=Kind.NONE.value).first()
        credentials = None if connection else _credentials_form(request, plan)
        choices = _choices(request, plan) if is_sent else None
        was_imported = is_sent and request.POST.get("state", plan.state) != plan.state
        problems = [*([import_plan.MEANWHILE] if was_imported else []), *plan.problems]
        if choices is not None and not problems and (credentials is None or credentials.is_valid()):
            problems, api = _stored(plan, draft, choices, credentials)
            if api is not None:
                return self._imported(request, plan, api, choices)
        return self._page(
            request,
            "preview",
            title=f"Import {plan.document.title}",
            plan=plan,
            problems=problems,
            counts=counts(plan),
            rows=rows(plan, choices),
            connection=connection,
            credentials=credentials,
            asked=in_words(plan.document),
        )

    def _imported(self, request: HttpRequest, plan: Plan, api: ImportedApi, choices: Choices) -> HttpResponse:
        on = sum(each.key in choices.chosen and each.operation is not None for each in plan.proposals)
        self.admin.log_change(request, api, f"Imported {api.source}: {on:,} tools switched on.")
        messages.success(request, f"Imported. {on:,} tools of {api} are switched on; clients see them from now on.")
        if api.upstream.authentication == Kind.NONE.value:
            address = reverse("admin:upstreams_upstreamapi_change", args=[api.upstream_id])
            note = '{} Nothing is sent to say who calls. <a href="{}">Enter credentials</a> if the API wants some.'
            messages.warning(request, format_html(note, in_words(plan.document), address))
        return HttpResponseRedirect(reverse("admin:openapi_importedapi_change", args=[api.pk]))

    def _check(self, request: HttpRequest) -> None:
        if not self.admin.has_add_permission(request):
            raise PermissionDenied

    def _page(self, request: HttpRequest, name: str, **context: Any) -> HttpResponse:
        everywhere = {**self.admin.admin_site.each_context(request), "opts": self.admin.opts}
        return render(request, f"admin/openapi/{name}.html", {**everywhere, **context})


def _initial_values(request: HttpRequest) -> dict[str, str]:
    """The form's initial values when an API is imported again."""
    api_id = request.GET.get("api", "")
    api = ImportedApi.objects.filter(pk=api_id).select_related("upstream").first() if api_id.isdecimal() else None
    if api is None:
        return {}
    is_address = api.source.startswith(("http://", "https://"))
    return {"name": api.upstream.name, "base_url": api.upstream.base_url, "url": api.source if is_address else ""}


def _draft(form: DocumentForm) -> ImportDraft:
    """The draft of the form's document. Raises CallError if it is not an OpenAPI document."""
    file, url = form.cleaned_data["file"], form.cleaned_data["url"]
    data = file.read() if file else async_to_sync(fetched)(url)
    documents.parse(data)
    return ImportDraft.objects.create(
        name=form.cleaned_data["name"],
        base_url=form.cleaned_data["base_url"],
        source=(file.name if file else url)[:500],
        document=zlib.compress(data),
    )


def _token_of(request: HttpRequest, draft: ImportDraft) -> str:
    """A token that only the user who uploaded the document can continue with."""
    return signing.dumps([draft.pk, request.user.pk], salt=SALT)


def _draft_behind(request: HttpRequest, token: str) -> ImportDraft | None:
    try:
        draft, user = signing.loads(token, salt=SALT, max_age=DRAFTS_LIVE)
    except signing.BadSignature:
        return None
    return ImportDraft.objects.filter(pk=draft).first() if user == request.user.pk else None


def _credentials_form(request: HttpRequest, plan: Plan) -> CredentialsForm:
    given = proposed(plan.document)
    initial = {"authentication": given.kind.value, "parameter_name": given.parameter_name}
    return CredentialsForm(request.POST if request.method == "POST" else None, initial=initial)


def _choices(request: HttpRequest, plan: Plan) -> Choices:
    names = {each.key: each.name for each in plan.proposals if each.operation}
    return Choices(request.POST, [each.key for each in plan.proposals], names)


def _stored(
    plan: Plan, draft: ImportDraft, choices: Choices, form: CredentialsForm | None
) -> tuple[list[str], ImportedApi | None]:
    """Returns the sentences that say why it was not stored, or the stored API. A draft can be stored only once."""
    entered = form.credentials if form and form.credentials.are_entered else None
    try:
        with transaction.atomic():
            draft.delete()
            return [], import_plan.store(plan, chosen=choices.chosen, names=choices.names, credentials=entered)
    except ValidationError as error:
        return error.messages, None
    except CallError as error:
        return [_text_of(error)], None


def _text_of(error: CallError) -> str:
    return " ".join(filter(None, [error.message, error.suggestion]))
