"""Calls an imported operation: builds the request from the arguments, and a payload from the response."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from context_protection.configuration.policies import last_policy_for
from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import Payload, Record
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.shapes import Shape
from context_protection.core.upstream_pages import PagedRows, SourcePage
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Fetched
from gateway.connectors.openapi import answers, detection, observed_fields, page_steps, requests
from gateway.connectors.openapi.answers import Answered
from gateway.connectors.openapi.description import DocumentedOperation
from gateway.connectors.openapi.detection import Listed
from gateway.connectors.openapi.page_steps import Done, Step
from gateway.connectors.openapi.paging import Paging
from gateway.threads.bridge import run_sync
from gateway.upstreams.exchanges import Request, Response
from gateway.upstreams.upstream import Upstream

Arguments = Mapping[str, Any]
LARGE = 256 * 1024  # bytes; a larger response is parsed on a thread
LEAST_ROWS = 50  # per page requested from upstream
SEEN_STEPS = 40  # that a paging sequence remembers, to notice that upstream's pages loop


@dataclass(frozen=True)
class Calling:
    """Everything that a call of one operation needs. `name` is the tool's, `row` the operation's database id. `learns`:
    fields are still proposed from its responses."""

    name: str
    row: int
    spec: DocumentedOperation
    base_url: str
    upstream: Upstream
    shape: Shape
    paging: Paging | None
    learns: bool

    async def fetch(self, arguments: Arguments, caller: Caller) -> Payload | Fetched:
        """Raises UpstreamError, and InvalidArgument if no request can be built from the arguments."""
        own = {name: value for name, value in arguments.items() if name in self.spec.places}
        if self.paging is not None:
            return PagedRows(UpstreamPages(self, self.paging, own), self.shape)
        request = requests.build(self.spec, own, self.base_url)
        response = await self.send(request)
        answered = await self.read(response)
        is_undescribed = self.spec.tells_no_kind and answered.rows is None
        if is_undescribed and (listed := detection.seen(self.spec, answered.body, response.headers)):
            return await self._as_list(listed, response, arguments, caller)
        return await self._answered(response, answered)

    async def _answered(self, response: Response, answered: Answered) -> Fetched:
        await self.learn(answered)
        may_be_cached = self.keep_seconds > 0
        payload = self._payload(answered, response.note(kept=may_be_cached))
        # A payload that may be cached states its time, so no later response gives an equal one: it has no version.
        version = None if may_be_cached or len(response.body) > LARGE else response.version
        return Fetched(payload, response.fresh_until, version)

    async def _as_list(
        self, listed: Listed, response: Response, arguments: Arguments, caller: Caller
    ) -> Payload | Fetched:
        """Treats the operation as a list, because this response is one. That is stored, and a list that upstream pages
        is fetched again page by page. If the caller has set upstream's own paging arguments, neither is done: hints and
        cursors of this response refer to these arguments, so they stay in force."""
        if detection.paging_arguments(self.spec, listed).isdisjoint(arguments):
            await observed_fields.noted_list(self.row, listed)
        else:
            listed = replace(listed, paging=None)
        calling = replace(self, spec=detection.as_list(self.spec, listed), paging=listed.paging, learns=False)
        if listed.paging is not None:
            return await calling.fetch(arguments, caller)
        return await calling._answered(response, await calling.read(response))

    @property
    def keep_seconds(self) -> float:
        return float(last_policy_for(self.name).cache_seconds) if self.spec.is_safe else 0.0

    async def send(self, request: Request) -> Response:
        return await self.upstream.fetch(request, keep_seconds=self.keep_seconds, accept=self._accepted)

    async def read(self, response: Response) -> Answered:
        """The parsed response. It is parsed again if it comes from the cache, or was parsed for another operation with
        the same address, or for this one before it was known to be a list."""
        content = response.content
        is_read = isinstance(content, Answered) and content.read_by is self.spec
        accepted = response if is_read else await self._accepted(response)
        assert isinstance(accepted.content, Answered)
        return accepted.content

    async def _accepted(self, response: Response) -> Response:
        large = len(response.body) > LARGE
        content = await run_sync(answers.read, response, self.spec) if large else answers.read(response, self.spec)
        return replace(response, content=replace(content, read_by=self.spec))

    async def learn(self, answered: Answered) -> None:
        if self.learns:
            records = answered.rows if answered.rows is not None else [answered.record or {}]
            await observed_fields.noted(self.row, records)

    def _payload(self, answered: Answered, note: Mapping[str, Any]) -> Payload:
        if answered.rows is not None:
            loaded = Loaded(answered.rows, note, answered.rest)
            return MemoryRows(lambda: loaded, self.shape)
        if answered.record is not None:
            return Record(dict(answered.record), self.shape, note=note)
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
        response = await self.calling.send(requests.next_page(first, step.url) if step.url else first)
        answered = await self.calling.read(response)
        if token is None:
            await self.calling.learn(answered)
        rows = answered.rows or []
        found = self.paging, response, answered.body, rows, step
        large = len(response.body) > LARGE  # all rows are hashed, to notice that upstream's pages loop
        following = await run_sync(page_steps.following, *found) if large else page_steps.following(*found)
        return SourcePage(
            rows,
            next=None if isinstance(following, Done) else _token(following, seen),
            total=page_steps.total(self.paging, response, answered.body, rows, following),
            certain=page_steps.is_certain(self.paging, response, answered.body, rows),
            as_of=response.as_of,
            fresh_until=response.fresh_until,
            note=response.note(kept=self.calling.keep_seconds > 0),
            beside=answered.rest if answered.rows is not None else answered.record or {"value": answered.text},
        )


def _token(step: Step, seen: list[str]) -> list[Any]:
    """A step as JSON, with the latest of the steps and pages seen."""
    known = set(seen)
    latest = [*seen, *(each.hex() for each in step.seen if each.hex() not in known)][-SEEN_STEPS:]
    return [dict(step.query), step.url, step.size, step.rows, latest]


def _step(token: list[Any]) -> Step:
    query, url, size, rows, seen = token
    return Step(query, url, size, rows, frozenset(bytes.fromhex(each) for each in seen))
