"""The page of one call: its arguments, answer and times, and the calls beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import queries, wording
from telemetry.measurement import CallOutcome, Measurement
from telemetry.models import Event, TelemetryRecord
from telemetry.pages.address import Address, written
from telemetry.pages.call_arguments import SEE_VALUES, Arguments, arguments_of
from telemetry.pages.call_copies import copies
from telemetry.pages.call_rows import CallRow, result, sent_and_original
from telemetry.pages.call_timeline import timeline
from telemetry.pages.charts import Mark
from telemetry.pages.marks import mark_of
from telemetry.pages.panels import guarded
from telemetry.pages.replay_offers import Offer, offer
from telemetry.pages.shell import page, show
from telemetry.pages.tiles import Fact
from telemetry.pages.words import NAMELESS, ORIGINS
from telemetry.states import State

PAGES_SHOWN = 50  # the most calls of a chain that are read
SAME_ID = 20  # the most calls with one id that are read
ENDINGS = {
    CallOutcome.PLAIN: "was answered whole",
    CallOutcome.PAGINATED: "was answered with a page",
    CallOutcome.SUMMARIZED: "was answered with a summary",
    CallOutcome.CHUNKED: "was answered with a part of the text",
}


@require_safe
@page(default_range="24h")
def call(request: HttpRequest, address: Address, request_id: str) -> HttpResponseBase:
    found = find(request, request_id)
    may_see_values = request.user.has_perm(SEE_VALUES)
    arguments = arguments_of(found.record.measurement, may_see_values=may_see_values)
    return shown(request, address, found, arguments, offer(request, found.record.measurement, arguments))


@dataclass(frozen=True, slots=True)
class FoundCall:
    """The page's call, and others with the same id, the newest first. Clients choose ids, so ids can repeat."""

    record: TelemetryRecord
    others: tuple[TelemetryRecord, ...]

    @property
    def at(self) -> str:
        """The time that distinguishes this call in the page's address; "" if no other has its id."""
        return written(self.record.measurement.at) if self.others else ""


def find(request: HttpRequest, request_id: str) -> FoundCall:
    """The call with this id. Of several, the one at the time in the parameter `at`, else the newest. Raises Http404."""
    records = list(TelemetryRecord.objects.filter(request_id=request_id).order_by("-created_at", "-pk")[:SAME_ID])
    if not records:
        raise Http404
    at = request.GET.get("at", "")
    record = next((each for each in records if written(each.measurement.at) == at), records[0])
    return FoundCall(record, tuple(each for each in records if each is not record))


def shown(
    request: HttpRequest, address: Address, found: FoundCall, arguments: Arguments, replay: Offer | None
) -> HttpResponse:
    record, measured = found.record, found.record.measurement
    is_failed = measured.outcome == CallOutcome.ERROR
    return show(
        request,
        address,
        "telemetry/call.html",
        title=title(measured),
        state=State.DOWN if is_failed else State.OK,
        has_comparison=False,
        call=measured,
        at=urlencode({"at": found.at}) if found.at else "",
        is_failed=is_failed,
        origin=ORIGINS.get(measured.origin, "unknown") if is_failed else "",
        time=f"{wording.exact_moment(measured.at)} {address.zone}",
        facts=_facts(address, measured),
        timeline=timeline(measured),
        arguments=arguments,
        copies=copies(measured.operation, arguments, request.build_absolute_uri("/").rstrip("/")),
        cut=None if is_failed else _cut(measured),
        same_id=[_with_same_id(address, each.measurement) for each in found.others],
        chain=guarded("Chain", lambda: _chain(address, record)),
        beside=guarded("Same caller", lambda: _beside(address, record)),
        changes=guarded("Changes", lambda: _changes(measured)),
        replay=replay,
    )


# -- Words --------------------------------------------------------------------------------------------


def title(call: Measurement) -> str:
    """For example: get_order failed: acme does not accept connections."""
    if call.outcome == CallOutcome.ERROR:
        why = (call.error_message or call.error_reason or "no reason is recorded").rstrip(".")
        return f"{call.operation or 'A call'} failed: {why}."
    if call.is_cached:
        return f"{call.operation} was answered from the cache."
    ending = ENDINGS.get(CallOutcome(call.outcome), "was answered")
    rows = f": {wording.whole(call.item_count)} of {wording.plural(call.total_rows, 'row')}" if call.total_rows else ""
    return f"{call.operation} {ending}{rows}."


def _facts(address: Address, call: Measurement) -> Sequence[Fact]:
    """The known facts; empty ones are left out."""
    address = address.with_chosen_range
    client = f"{call.client} {call.client_version}".strip()
    found = [
        Fact("Tool", call.operation, address.to("tool", call.operation) if call.operation else ""),
        Fact("Key", call.caller or NAMELESS["key"], address.to("caller", call.caller) if call.caller else ""),
        Fact("Client", client),
        Fact("Transport", call.transport),
        Fact("Protocol", call.protocol),
        Fact("Upstream", call.upstream, address.to("upstream", call.upstream) if call.upstream else ""),
        Fact("Its status", str(call.upstream_status) if call.upstream_status else ""),
        Fact("Requests sent to it", wording.whole(call.attempts) if call.attempts else ""),
        Fact("From cache", "yes" if call.is_cached else ""),
        Fact("Size", wording.size(call.response_bytes) if call.response_bytes else ""),
        Fact("Policy revision", call.revision),
        Fact("Arm", call.arm),
        Fact("Trace", call.trace_id),
    ]
    return [fact for fact in found if fact.value]


@dataclass(frozen=True, slots=True)
class Cut:
    """What protection saved. `tokens`: before and after, such as "1,200 → 80 tokens, −94%". `formula`: the same by the
    formula; "" if `tokens` is by the formula already."""

    tokens: str
    formula: str
    facts: tuple[Fact, ...]


def _cut(call: Measurement) -> Cut:
    sent, original = sent_and_original(call)
    by_claude = bool(call.claude_tokens)
    facts = (
        Fact("Budget", f"{wording.whole(call.threshold)} tokens" if call.threshold else ""),
        Fact(
            "Rows", f"{wording.whole(call.item_count)} of {wording.whole(call.total_rows)}" if call.total_rows else ""
        ),
        Fact("Largest row", f"{wording.whole(call.largest_row_tokens)} tokens" if call.largest_row_tokens else ""),
        Fact("Not in the upstream's record", call.missing_fields.replace(",", ", ")),
        Fact("Saved", _saved(call)),
    )
    return Cut(
        tokens=_tokens(original, sent) + ("" if by_claude else ", by the formula"),
        formula=_tokens(call.original_tokens, call.estimated_tokens) if by_claude else "",
        facts=tuple(fact for fact in facts if fact.value),
    )


def _tokens(original: int, sent: int) -> str:
    if original <= sent:
        return wording.plural(sent, "token")
    return f"{wording.whole(original)} → {wording.whole(sent)} tokens, {wording.change(sent, original)}"


def _saved(call: Measurement) -> str:
    if call.baseline_tokens or call.saved_tokens >= 0:
        return ""
    return "A follow-up: the first call of the chain counts what was saved."


# -- Related calls and changes ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    words: str
    state: State
    link: str
    is_this: bool = False


def _with_same_id(address: Address, call: Measurement) -> Link:
    row = CallRow.of(call, address)
    joint = "&" if "?" in row.link else "?"
    words = f"{row.time} {row.tool}, {row.result}, {row.key}"
    return Link(words, row.state, f"{row.link}{joint}{urlencode({'at': written(call.at)})}")


def _chain(address: Address, record: TelemetryRecord) -> Sequence[Link]:
    """The pages of one list, in the order in which they were read. A page that was read again is listed once."""
    chain = record.measurement.chain
    if not chain:
        return ()
    found: dict[str, list[TelemetryRecord]] = {}
    for each in TelemetryRecord.objects.filter(chain=chain).order_by("created_at", "pk")[:PAGES_SHOWN]:
        found.setdefault(_page_in_words(each.measurement), []).append(each)
    return [_page_of_chain(address, words, records, record) for words, records in found.items()]


def _page_in_words(call: Measurement) -> str:
    words = f"page {call.page}" if call.page else call.operation
    return f"{words} {result(call)}" if call.outcome == CallOutcome.ERROR else words


def _page_of_chain(address: Address, words: str, records: Sequence[TelemetryRecord], this: TelemetryRecord) -> Link:
    row = CallRow.of(records[0].measurement, address)
    often = f", {len(records)} times" if len(records) > 1 else ""
    return Link(f"{words}{often}", row.state, row.link, any(each.pk == this.pk for each in records))


def _beside(address: Address, record: TelemetryRecord) -> tuple[CallRow | None, CallRow | None]:
    """The previous and the next call of the same key."""
    before, after = queries.neighbours(record)
    rows = [CallRow.of(each.measurement, address) if each else None for each in (before, after)]
    return rows[0], rows[1]


def _changes(call: Measurement) -> Sequence[Mark]:
    """The changes that created the configuration revision under which the call was served."""
    if not call.revision:
        return ()
    return [mark_of(event) for event in Event.objects.filter(revision=call.revision).order_by("-at", "-pk")[:10]]
