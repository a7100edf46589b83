"""The list of keys: who has them, what they may use, what they used today, and when they end."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

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


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """Today's figures by the key's name. `of_quotas`: the tokens that count towards a quota, for keys that have one."""

    all_calls: Mapping[str, CallFigures]
    of_quotas: Mapping[str, int]


@page(needs=SEE, own=("state",))
@require_safe
def keys(request: HttpRequest, address: Address) -> HttpResponseBase:
    is_revoked = address.get("state") == "revoked"
    stored = ApiKey.objects.filter(revoked_at__isnull=not is_revoked).prefetch_related("tool_sets")
    may_change = request.user.has_perm("access.change_apikey")
    found = list(usage.with_last_use(stored))
    figures = guarded(
        "Figures", lambda: KeyFigures(usage.today(timezone.now()), usage.of_quotas(found, timezone.now()))
    )
    counts = ApiKey.objects.counts(timezone.now())
    return show(
        request,
        address,
        "keys/keys.html",
        title="Keys",
        sentence=_sentence(counts["valid"]),
        has_comparison=False,
        table=_table(address, found, figures.content, may_change=may_change and not is_revoked),
        failure=figures.failure,
        not_revoked=counts["not_revoked"],
        revoked=counts["revoked"],
        is_revoked=is_revoked,
        may_add=request.user.has_perm("access.add_apikey"),
    )


def _sentence(count: int) -> str:
    if not count:
        return "No key is active, so no client can call. Make one."
    return f"{wording.plural(count, 'key')} can call. Days begin at midnight UTC."


def _table(address: Address, found: list[ApiKey], figures: KeyFigures | None, *, may_change: bool) -> Table:
    now = timezone.now()
    rows = [[*_row(key, figures, now), *(_actions(key) if may_change else ())] for key in found]
    columns = (*COLUMNS, *(ACTIONS if may_change else ()))
    empty = "No key here."
    return table(address, key="keys", title="Keys", columns=columns, rows=rows, sort="key", empty=empty)


def _row(key: ApiKey, figures: KeyFigures | None, now: datetime) -> list[Cell]:
    used = None if figures is None else figures.all_calls.get(key.name, usage.NOTHING)
    state, words = key.state(now)
    last = key.last_used  # type: ignore[attr-defined]
    return [
        Cell(key.name, reverse("admin:access_apikey_change", args=[key.pk]), is_code=True),
        Cell(words, state=state),
        Cell(key.owner or wording.NOTHING),
        Cell(may_use(key)),
        Cell(wording.whole(used.calls if used else None), value=used.calls if used else None),
        _tokens(key, figures),
        Cell(wording.moment(last) if last else "never", value=last),
        Cell(wording.minute(key.expires_at) if key.expires_at else "never", value=key.expires_at),
    ]


def _tokens(key: ApiKey, figures: KeyFigures | None) -> Cell:
    if figures is None:
        return Cell(wording.NOTHING)
    if not key.daily_tokens:
        sent = figures.all_calls.get(key.name, usage.NOTHING).tokens_sent
        return Cell(wording.whole(sent), value=sent)
    counted = figures.of_quotas.get(key.name, 0)
    words = f"{wording.whole(counted)} of {wording.whole(key.daily_tokens)}"
    return Cell(words, value=counted, bar=counted / key.daily_tokens)


def _actions(key: ApiKey) -> tuple[Cell, Cell]:
    return (
        Cell("Rotate…", reverse("keys:rotate", args=[key.pk])),
        Cell("Revoke…", reverse("keys:revoke", args=[key.pk])),
    )


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
