"""The list of keys: who has them, what they may use, what they used today, and when they end."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from gateway.access.models import ApiKey
from gateway.staff.keys import usage
from gateway.staff.keys.first_call import SEE
from telemetry import wording
from telemetry.call_figures import CallFigures
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.states import State

SOON = timedelta(days=7)  # a key that ends within this time "expires soon"
COLUMNS = (
    TableColumn("key", "Key", is_number=False),
    TableColumn("state", "State", is_number=False),
    TableColumn("owner", "Owner", is_number=False),
    TableColumn("may", "May use", is_number=False),
    TableColumn("calls", "Calls today"),
    TableColumn("tokens", "Tokens today"),
    TableColumn("used", "Last used", is_number=False),
    TableColumn("expires", "Expires", is_number=False),
)
ACTIONS = (TableColumn("rotate", "Rotate", is_number=False), TableColumn("revoke", "Revoke", is_number=False))


@page(needs=SEE)
@require_safe
def keys(request: HttpRequest, address: Address) -> HttpResponseBase:
    is_revoked = request.GET.get("state") == "revoked"
    stored = ApiKey.objects.filter(revoked_at__isnull=not is_revoked).prefetch_related("tool_sets")
    count = ApiKey.objects.filter(revoked_at=None).count()
    may_change = request.user.has_perm("access.change_apikey")
    found = list(usage.with_last_use(stored))
    figures = guarded("Figures", lambda: usage.today(timezone.now()))
    return show(
        request,
        address,
        "keys/keys.html",
        title="Keys",
        sentence=_sentence(count),
        has_comparison=False,
        table=_table(address, found, figures.content, may_change=may_change and not is_revoked),
        failure=figures.failure,
        active=count,
        revoked=ApiKey.objects.exclude(revoked_at=None).count(),
        is_revoked=is_revoked,
        may_add=request.user.has_perm("access.add_apikey"),
    )


def _sentence(count: int) -> str:
    if not count:
        return "No key is active, so no client can call. Make one."
    return f"{wording.plural(count, 'key')} can call. Days begin at midnight UTC."


def _table(
    address: Address, found: list[ApiKey], figures: Mapping[str, CallFigures] | None, *, may_change: bool
) -> Table:
    now = timezone.now()
    rows = [[*_row(key, figures, now), *(_actions(key) if may_change else ())] for key in found]
    columns = (*COLUMNS, *(ACTIONS if may_change else ()))
    empty = "No key here."
    return table(address, key="keys", title="Keys", columns=columns, rows=rows, sort="key", empty=empty)


def _row(key: ApiKey, figures: Mapping[str, CallFigures] | None, now: datetime) -> list[Cell]:
    used = None if figures is None else figures.get(key.name, usage.NOTHING)
    state, words = state_of(key, now)
    last = key.last_used  # type: ignore[attr-defined]
    return [
        Cell(key.name, reverse("admin:access_apikey_change", args=[key.pk]), is_code=True),
        Cell(words, state=state),
        Cell(key.owner or wording.NOTHING),
        Cell(may_use(key)),
        Cell(wording.whole(used.calls if used else None), value=used.calls if used else None),
        _tokens(key, used),
        Cell(wording.moment(last) if last else "never", value=last),
        Cell(wording.minute(key.expires_at) if key.expires_at else "never", value=key.expires_at),
    ]


def _tokens(key: ApiKey, used: CallFigures | None) -> Cell:
    if used is None:
        return Cell(wording.NOTHING)
    sent = used.tokens_sent
    if not key.daily_tokens:
        return Cell(wording.whole(sent), value=sent)
    words = f"{wording.whole(sent)} of {wording.whole(key.daily_tokens)}"
    return Cell(words, value=sent, bar=sent / key.daily_tokens)


def _actions(key: ApiKey) -> tuple[Cell, Cell]:
    return (
        Cell("Rotate…", reverse("keys:rotate", args=[key.pk])),
        Cell("Revoke…", reverse("keys:revoke", args=[key.pk])),
    )


def state_of(key: ApiKey, now: datetime) -> tuple[State, str]:
    if key.revoked_at is not None:
        return State.NO_DATA, f"revoked {wording.minute(key.revoked_at)}"
    if key.expires_at is not None and key.expires_at <= now:
        return State.DOWN, "expired"
    if key.expires_at is not None and key.expires_at <= now + SOON:
        return State.DEGRADED, "expires soon"
    if key.previous_until is not None and key.previous_until > now:
        return State.OK, f"active; the old secret too until {wording.minute(key.previous_until)}"
    return State.OK, "active"


def may_use(key: ApiKey) -> str:
    """The tools of a key in words: set Shop, 3 chosen tools, reading only; 2 hidden."""
    within = [f"set {each.name}" for each in key.tool_sets.all()]
    if key.allowed_tools:
        within.append(wording.plural(len(key.allowed_tools), "chosen tool"))
    parts = within or (["all tools"] if not key.reads_only else [])
    if key.reads_only:
        parts = [*parts, "reading only"] if parts else ["reading tools"]
    hidden = f"; {len(key.hidden_tools)} hidden" if key.hidden_tools else ""
    return f"{', '.join(parts)}{hidden}"
