"""The page that opens a cursor, for debugging, because cursors themselves are opaque (ruling 8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_http_methods

from context_protection.core.errors import CallError
from context_protection.stores.snapshots import snapshots
from gateway.access.models import ApiKey
from gateway.argument_masks import masked
from telemetry import events, wording
from telemetry.pages.address import Address
from telemetry.pages.shell import page, show

SEE = "telemetry.view_callarguments"  # a cursor's snapshot has the arguments of its call
LONGEST = 4000  # characters


@dataclass(frozen=True, slots=True)
class OpenedCursor:
    """`facts`: names and values of what the cursor holds. `problem`: why it cannot be read, and what to do."""

    facts: tuple[tuple[str, str], ...] = ()
    problem: str = ""


@page(needs=SEE)
@require_http_methods(["GET", "HEAD", "POST"])
def cursor(request: HttpRequest, address: Address) -> HttpResponseBase:
    token = request.POST.get("cursor", "").strip()[:LONGEST] if request.method == "POST" else ""
    opened = _opened(token, request.user.get_username()) if token else OpenedCursor()
    return show(
        request,
        address,
        "history/cursor.html",
        title="Open a cursor",
        sentence="Paste a cursor to see which call it continues, and from where. Opening one is recorded.",
        has_comparison=False,
        has_recorder_notes=False,
        token=token,
        opened=opened,
    )


def _opened(token: str, by: str) -> OpenedCursor:
    try:
        snapshot_id, position = snapshots.sealer.open(token)
        snapshot = snapshots.store.get(snapshot_id)
    except CallError as error:
        return OpenedCursor(problem=str(error))
    events.record(
        kind=events.EventKind.CHANGE,
        subject_type="cursor",
        subject=snapshot.operation if snapshot else "expired",
        summary="A cursor was opened for debugging.",
        actor=by,
    )
    if snapshot is None:
        return OpenedCursor(
            (("Snapshot", snapshot_id),),
            "The cursor was issued here and is undamaged, but its snapshot has expired. The client must start again "
            "without a cursor.",
        )
    now = datetime.now(UTC).timestamp()
    return OpenedCursor(
        (
            ("Tool", snapshot.operation),
            ("Key", _key_name(snapshot.caller)),
            ("Arguments", _arguments(snapshot.operation, snapshot.arguments)),
            ("Position", _text(position)),
            ("Snapshot", snapshot.id),
            ("Taken", _moment(snapshot.taken_at)),
            ("Expires", f"{_moment(snapshot.expires_at)}, in {max(0, round((snapshot.expires_at - now) / 60))} min"),
            ("Stored blocks", str(snapshot.plan.get("blocks", 0))),
        )
    )


def _key_name(owner: str) -> str:
    """The name of the key of an owner such as "key:7/…". Owners that are not keys are returned as they are."""
    kind, _, rest = owner.partition(":")
    number = rest.partition("/")[0]
    if kind != "key" or not number.isdecimal():
        return owner
    name = ApiKey.objects.filter(pk=int(number)).values_list("name", flat=True).first()
    return name or f"{owner.partition('/')[0]} (deleted)"


def _arguments(operation: str, arguments: Mapping[str, Any]) -> str:
    return _text(masked(operation, arguments).value)


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()


def _moment(seconds: float) -> str:
    return wording.moment(datetime.fromtimestamp(seconds, UTC))
