"""Calls an imported operation: builds the request from the arguments, and a payload from the response."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from context_protection.configuration.policies import policy_in_call
from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import Payload, Record, with_note
from context_protection.core.policy import Kind
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.shapes import Shape
from context_protection.core.upstream_pages import PagedRows, SourcePage
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Fetched
from gateway.connectors.openapi import observed_fields
from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.document.paging import Paging
from gateway.connectors.openapi.request import requests
from gateway.connectors.openapi.response import answers, detection, evidence, page_steps, side_data
from gateway.connectors.openapi.response.answers import Answered
from gateway.connectors.openapi.response.detection import DetectedList
from gateway.connectors.openapi.response.page_steps import Done, PageStep
from gateway.threads.bridge import run_sync
from gateway.upstreams.client import Upstream
from gateway.upstreams.request import Request, Response

Arguments = Mapping[str, Any]
LARGE = 256 * 1024  # bytes; a larger response is parsed on a thread
LEAST_ROWS = 50  # the fewest rows that are requested per page
PAGING = "Paging for this tool in the admin, under Imported operations"
SET_PAGING = f"ask the operator to set {PAGING}"
SEEN_STEPS = 40  # latest steps that are remembered, to detect that upstream's pages loop


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Parses responses of the operation. Equal for equal operations, so that calls do not share what was parsed for
    another operation with the same address, or for this one before it was known to be a list."""

    spec: DocumentedOperation

    async def __call__(self, response: Response) -> Answered:
        large = len(response.body) > LARGE
        return await run_sync(answers.read, response, self.spec) if large else answers.read(response, self.spec)


@dataclass(frozen=True)
class Calling:
    """Everything that a call of one operation needs. `name` is the tool's, `row` the operation's database id. `learns`:
    its fields are still being learned from responses. `shaped` returns the shape with learned fields. `paging_is_set`:
    ops staff have set the paging, so responses do not determine it."""

    name: str
    row: int
    spec: DocumentedOperation
    base_url: str
    upstream: Upstream
    shape: Shape
    paging: Paging | None
    learns: bool
    shaped: Callable[[Mapping[str, Any]], Shape]
    paging_is_set: bool = False

    async def fetch(self, arguments: Arguments, caller: Caller) -> Payload | Fetched:
        """Raises UpstreamError, and InvalidArgument if no request can be built from the arguments."""
        own = {name: value for name, value in arguments.items() if name in self.spec.places}
        if self.paging is not None:
            return PagedRows(UpstreamPages(self, self.paging, own), self.shape)
        request = requests.build(self.spec, own, self.base_url)
        cache_seconds = self.cache_seconds
        response, answered = await self.ask(request, cache_seconds)
        if listed := self._detected(response, answered):
            return await self._as_list(listed, response, arguments, caller)
        return await self._answered(response, answered, cache_seconds)

    def _detected(self, response: Response, answered: Answered) -> DetectedList | None:
        """The list, or the paging of a declared list, if this response shows it and the document does not."""
        if self.spec.kind is not Kind.LIST:
            is_open = self.spec.kind_is_unknown
            return detection.detect(self.spec, answered.body, response.headers) if is_open else None
        if (
            answered.rows is None
            or self.paging_is_set
            or not evidence.may_lead_on(response, answered.body, answered.path)
        ):
            return None
        return detection.detect_paging(self.spec, answered.body, response.headers, answered.path)

    async def _answered(self, response: Response, answered: Answered, cache_seconds: float) -> Fetched:
        shape = await self.learn(answered, len(response.body))
        may_be_cached = cache_seconds > 0
        payload = self._payload(answered, shape, self._note(response, answered, may_be_cached))
        # A payload that may be cached contains its time, so it never equals a later one, and needs no version.
        version = None if may_be_cached or len(response.body) > LARGE else response.version
        return Fetched(payload, response.fresh_until, version, len(response.body))

    async def _as_list(
        self, listed: DetectedList, response: Response, arguments: Arguments, caller: Caller
    ) -> Payload | Fetched:
        """Treats the operation as a list with the paging that this response shows. Stores both, and fetches a paged
        list again page by page. Does neither if the caller has set upstream's paging arguments: they then stay in
        force, as the cursors of this response refer to them."""
        if not any(self._is_set(name, arguments) for name in detection.paging_arguments(self.spec, listed)):
            await observed_fields.store_list(self.row, listed)
        else:
            listed = replace(listed, paging=None)
        spec = detection.as_list(self.spec, listed) if listed.paging or self.spec.kind is not Kind.LIST else self.spec
        calling = replace(self, spec=spec, paging=listed.paging)
        if listed.paging is not None:
            return await calling.fetch(arguments, caller)
        return await calling._answered(response, await calling._read(response), calling.cache_seconds)

    def _is_set(self, name: str, arguments: Arguments) -> bool:
        """Whether the caller has set the argument, which otherwise has its default."""
        return name in arguments and arguments[name] != self.spec.parameters[name].get("default")

    @property
    def _read(self) -> ReadAnswer:
        return ReadAnswer(self.spec)

    @property
    def cache_seconds(self) -> float:
        return float(policy_in_call(self.name).upstream_cache_seconds) if self.spec.is_safe else 0.0

    async def ask(self, request: Request, cache_seconds: float) -> tuple[Response, Answered]:
        return await self.upstream.fetch_and_read(request, self._read, cache_seconds=cache_seconds)

    async def learn(self, answered: Answered, size: int) -> Shape:
        """The shape of the answer's records, learned from them once enough were collected. `size`: the size of the
        response in bytes."""
        if not self.learns:
            return self.shape
        records = answered.rows if answered.rows is not None else [answered.record or {}]
        learned = await observed_fields.collect(self.row, records, size)
        return self.shape if learned is None else self.shaped(learned)

    def _note(self, response: Response, answered: Answered, may_be_cached: bool) -> Mapping[str, Any]:
        note = response.note(cached=may_be_cached)
        rows = answered.rows if self.spec.kind is Kind.LIST else None
        more = evidence.of_more(response, answered.body, answered.path, len(rows)) if rows else ""
        if not more:
            return note
        own = ", ".join(detection.position_arguments(self.spec))
        how = f"Set {own} to get them" if own else "Narrow the list with this tool's arguments"
        return with_note(note, f"Upstream has more rows ({more}). {how}, or {SET_PAGING}.")

    def _payload(self, answered: Answered, shape: Shape, note: Mapping[str, Any]) -> Payload:
        if answered.rows is not None:
            loaded = Loaded(answered.rows, note, answered.rest)
            return MemoryRows(lambda: loaded, shape)
        if answered.record is not None:
            return Record(dict(answered.record), shape, note=note)
        return MemoryText(answered.text or "", self.name, "text/plain", note)


@dataclass(frozen=True)
class UpstreamPages:
    """The pages of an upstream's list (a `PageSource`)."""

    calling: Calling
    paging: Paging
    arguments: Arguments

    async def page(self, token: Any, size: int) -> SourcePage:
        seen: list[str] = [] if token is None else token[-1]
        step = page_steps.first(self.paging, max(size, LEAST_ROWS)) if token is None else _step(token)
        first = requests.build(self.calling.spec, self.arguments, self.calling.base_url, step.query)
        cache_seconds = self.calling.cache_seconds
        request = requests.next_page(first, step.url) if step.url else first
        response, answered = await self.calling.ask(request, cache_seconds)
        shape = await self.calling.learn(answered, len(response.body)) if token is None else None
        rows = answered.rows or []
        found = self.paging, response, answered.body, rows, step
        large = len(response.body) > LARGE  # all rows are hashed, to detect that upstream's pages loop
        following = await run_sync(page_steps.following, *found) if large else page_steps.following(*found)
        if isinstance(following, PageStep) and following.url and not requests.may_follow(first, following.url):
            following = Done(elsewhere=True)
        return SourcePage(
            rows,
            next=None if isinstance(following, Done) else _token(following, seen),
            total=page_steps.total(self.paging, response, answered.body, rows, following),
            certain=page_steps.is_certain(self.paging, response, answered.body, rows),
            as_of=response.as_of,
            fresh_until=response.fresh_until,
            note=response.note(cached=cache_seconds > 0),
            beside=_beside(answered) if token is None else side_data.of_later_page(_beside(answered)),
            ending=_ending(self.paging, response, answered, step, following),
            shape=shape,
            size=len(response.body),
        )


def _beside(answered: Answered) -> Mapping[str, Any]:
    return answered.rest if answered.rows is not None else answered.record or {"value": answered.text}


def _ending(paging: Paging, response: Response, answered: Answered, step: PageStep, following: PageStep | Done) -> str:
    """Why the list ends with this page, if upstream says that more rows follow."""
    if isinstance(following, PageStep):
        return ""
    if following.elsewhere:
        return (
            "Upstream says that more rows follow, but at another host. To get them, ask the operator to correct the "
            f"API's base URL, or to set {PAGING}."
        )
    more = evidence.of_more(response, answered.body, answered.path, step.rows + len(answered.rows or ()))
    if not more and page_steps.is_unreadable(paging, answered.body):
        more = paging.next
    if not more:
        return ""
    why = "its next page repeats an earlier one" if following.looped else "the next page is not where it was expected"
    return f"Upstream says that more rows follow ({more}), but {why}. To get them, {SET_PAGING}."


def _token(step: PageStep, seen: list[str]) -> list[Any]:
    """A step as JSON, with the digests of the latest steps and pages."""
    known = set(seen)
    latest = [*seen, *(each.hex() for each in step.seen if each.hex() not in known)][-SEEN_STEPS:]
    return [dict(step.query), step.url, step.size, step.rows, latest]


def _step(token: list[Any]) -> PageStep:
    query, url, size, rows, seen = token
    return PageStep(query, url, size, rows, frozenset(bytes.fromhex(each) for each in seen))
