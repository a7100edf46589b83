"""The two pages of an import: the choice of the document, and a preview of the result. No operation is stored before
the preview is submitted."""

import hashlib
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

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
from gateway.connectors.openapi.document import documents
from gateway.connectors.openapi.document.documents import fetched
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.importer.forms import Choices, CredentialsForm, DocumentForm
from gateway.connectors.openapi.importer.import_plan import SHOWN_ORDER, Plan, Proposal, Status
from gateway.connectors.openapi.models import DRAFTS_LIVE, ImportDraft, ImportedApi
from gateway.connectors.openapi.operations import tool_name
from gateway.connectors.openapi.request.credentials import in_words, proposed
from gateway.upstreams.connections import AuthKind
from gateway.upstreams.models import UpstreamApi
from telemetry.wording import plural

SALT = "gateway.connectors.openapi.drafts"
WORDS = {Status.CHANGED: "changed", Status.NEW: "new", Status.GONE: "gone", Status.UNCHANGED: "unchanged"}


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
            messages.warning(request, "That document is no longer stored. Read it again.")
            return HttpResponseRedirect(reverse("admin:openapi_import"))
        is_sent = request.method == "POST"
        base_url = request.POST.get("base_url", draft.base_url).strip()
        plan = import_plan.plan(
            zlib.decompress(draft.document), name=draft.name, source=draft.source, base_url=base_url
        )
        connection = UpstreamApi.objects.filter(name=plan.name).exclude(authentication=AuthKind.NONE.value).first()
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
            counts=_counts(plan),
            rows=_rows(plan, choices),
            connection=connection,
            credentials=credentials,
            declared=in_words(plan.document),
        )

    def _imported(self, request: HttpRequest, plan: Plan, api: ImportedApi, choices: Choices) -> HttpResponse:
        on = sum(each.key in choices.chosen and each.operation is not None for each in plan.proposals)
        self.admin.log_change(request, api, f"Imported {api.source}: {plural(on, 'tool')} switched on.")
        switched = f"Imported. {plural(on, 'tool')} of {api} {'is' if on == 1 else 'are'} switched on"
        if api.upstream.enabled:
            messages.success(request, f"{switched}; clients see {'it' if on == 1 else 'them'} from now on.")
        else:
            note = '{}, but its connection is switched off: clients see none. <a href="{}">Switch it on</a> there.'
            messages.warning(request, format_html(note, switched, connection_address(api)))
        if api.upstream.authentication == AuthKind.NONE.value:
            address = connection_address(api)
            note = '{} No credentials are sent. <a href="{}">Enter credentials</a> if the API requires them.'
            messages.warning(request, format_html(note, in_words(plan.document), address))
        return HttpResponseRedirect(reverse("admin:openapi_importedapi_change", args=[api.pk]))

    def _check(self, request: HttpRequest) -> None:
        if not self.admin.has_add_permission(request):
            raise PermissionDenied("openapi.add_importedapi")

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
    """A token for the draft. Only the user who uploaded the document can use it."""
    return signing.dumps([draft.pk, request.user.pk], salt=SALT)


def _draft_behind(request: HttpRequest, token: str) -> ImportDraft | None:
    try:
        draft, user = signing.loads(token, salt=SALT, max_age=DRAFTS_LIVE)
    except signing.BadSignature:
        return None
    return ImportDraft.objects.filter(pk=draft).first() if user == request.user.pk else None


def _credentials_form(request: HttpRequest, plan: Plan) -> CredentialsForm:
    before = ImportedApi.objects.filter(upstream__name=plan.name).first()
    initial = before.awaited if before and before.awaited else proposed(plan.document).how
    return CredentialsForm(request.POST if request.method == "POST" else None, initial=initial)


def connection_address(api: ImportedApi) -> str:
    """The URL of the API's connection page. Its query has the kind of authentication that was chosen in an import
    without a secret."""
    address = reverse("admin:upstreams_upstreamapi_change", args=[api.upstream_id])
    return f"{address}?{urlencode(api.awaited)}" if api.awaited else address


def _choices(request: HttpRequest, plan: Plan) -> Choices:
    names = {each.key: each.name for each in plan.proposals if each.operation}
    return Choices(request.POST, [each.key for each in plan.proposals], names)


def _stored(
    plan: Plan, draft: ImportDraft, choices: Choices, form: CredentialsForm | None
) -> tuple[list[str], ImportedApi | None]:
    """Returns the reasons why the plan was not stored, or the stored API. A draft can be stored only once."""
    entered = form.credentials if form and form.credentials.are_entered else None
    try:
        with transaction.atomic():
            draft.delete()
            api = import_plan.store(plan, chosen=choices.chosen, names=choices.names, credentials=entered)
            if form is not None:
                ImportedApi.objects.filter(pk=api.pk).update(awaited={} if entered else form.credentials.how)
                api.refresh_from_db()
            return [], api
    except ValidationError as error:
        return error.messages, None
    except CallError as error:
        return [_text_of(error)], None


def _text_of(error: CallError) -> str:
    return " ".join(filter(None, [error.message, error.suggestion]))


# -- The preview's table ----------------------------------------------------------------------------


def _counts(plan: Plan) -> list[tuple[str, int]]:
    """The number of operations per status, as (words, number). A status without operations is left out."""
    return [(WORDS[status], plan.counts[status]) for status in SHOWN_ORDER if plan.counts[status]]


def _rows(plan: Plan, choices: Choices | None) -> list[dict[str, Any]]:
    """The rows of the page's table. `choices`: the submitted ones; None shows the proposed ones."""
    return [_row(plan, each, choices) for each in plan.by_status]


def _row(plan: Plan, proposal: Proposal, choices: Choices | None) -> dict[str, Any]:
    operation = proposal.operation
    return {
        "id": hashlib.sha256(proposal.key.encode()).hexdigest()[:12],
        "key": proposal.key,
        "name": choices.names.get(proposal.key, proposal.name) if choices else proposal.name,
        "proposed": proposal.name,
        "tool": tool_name(plan.name, proposal.name),
        "status": proposal.status.value,
        "status_words": WORDS[proposal.status],
        "chosen": proposal.key in choices.chosen if choices else proposal.chosen,
        "title": operation.title if operation else "",
        "kind": operation.kind.value if operation else "",
        "acts": operation is not None and not operation.is_safe,
        "is_gone": operation is None,
        "deprecated": operation is not None and operation.deprecated,
        "tokens": proposal.tokens,
        "was_on": proposal.stored is not None and proposal.chosen,
        "paging": operation.paging.style.value.replace("_", " ") if operation and operation.paging else "",
        "changes": proposal.changes,
        "warnings": operation.warnings if operation else (),
        "tags": operation.tags if operation else (),
    }
