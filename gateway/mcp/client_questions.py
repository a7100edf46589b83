"""Passes an upstream's questions, such as an elicitation, to the client of the call.

Before MCP 2026-07-28, the server sends the question as a request, while the call waits. That needs a connection over
which the server can send: WebSocket, stdio, SSE, or HTTP with sessions.

From 2026-07-28 on, the call is answered with the question, and waits in this process. The client calls again with its
answer and `requestState`. If no call is waiting here (the client took too long, or another process asked), the
operation is called again with this answer, if that is safe.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp.types as types
from mcp.server import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from context_protection.core.errors import TRANSPORT, CallError
from gateway.catalog.catalog import catalogue
from gateway.dispatch import configuration
from gateway.dispatch.asker import CAPABILITIES
from gateway.dispatch.client import Client, client
from gateway.mcp.peers import Peer
from gateway.threads.limits import on_thread

PATIENCE = 240.0  # seconds for the client to call again
MAX_WAITING = 1000  # calls that wait for an answer
KEY = "question"  # the only key of a result's input requests
_REQUEST: TypeAdapter[types.InputRequest] = TypeAdapter(types.InputRequest)
_JSON: TypeAdapter[Any] = TypeAdapter(Any)
Answered = types.CallToolResult | types.InputRequiredResult
Run = Callable[[], Awaitable[types.CallToolResult]]


class QuestionClosed(CallError):
    """`requestState` names no waiting call of this key in this process."""

    code = TRANSPORT
    status = 409


def _has_capability(declared: types.ClientCapabilities | None, method: str, params: Mapping[str, Any]) -> bool:
    capability = getattr(declared, CAPABILITIES[method], None)
    if not isinstance(capability, types.ElicitationCapability):
        return capability is not None
    if params.get("mode") == "url":
        return capability.url is not None
    return capability.form is not None or capability.url is None


class ConnectedClient:
    """A client that receives questions over its connection."""

    def __init__(self, ctx: ServerRequestContext[Any], session: Hashable) -> None:
        self.session = session
        self._ctx = ctx

    def lacks(self, method: str, params: Mapping[str, Any]) -> bool:
        session = self._ctx.session
        return not session.can_send_request or not _has_capability(session.client_capabilities, method, params)

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        request = _REQUEST.validate_python({"method": method, "params": dict(params)}, by_name=False)
        metadata = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        answer = await self._ctx.session.send_request(request, _AnyResult, metadata=metadata)
        return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


class AnsweringClient:
    """A client that has sent the answer to the only question together with the call."""

    def __init__(self, response: types.InputResponse, session: Hashable) -> None:
        self.session = session
        self._response: types.InputResponse | None = response

    def lacks(self, method: str, params: Mapping[str, Any]) -> bool:
        return self._response is None

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        response, self._response = self._response, None
        assert response is not None
        return _document(response)


def _document(response: types.InputResponse) -> dict[str, Any]:
    return response.model_dump(mode="json", by_alias=True, exclude_none=True)


class _AnyResult(types.Result, extra="allow"):
    """The client's answer. The connector validates it."""


@dataclass(eq=False)
class WaitingCall:
    """A call of a client of MCP 2026-07-28. It keeps running while the client answers a question."""

    owner: str
    session: Hashable
    capabilities: types.ClientCapabilities | None
    _questions: "asyncio.Queue[_Question]" = field(default_factory=asyncio.Queue)
    _open: "_Question | None" = None
    _task: "asyncio.Task[types.CallToolResult] | None" = None

    def lacks(self, method: str, params: Mapping[str, Any]) -> bool:
        return not _has_capability(self.capabilities, method, params)

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        request = _REQUEST.validate_python({"method": method, "params": dict(params)}, by_name=False)
        question = _Question(request, asyncio.get_running_loop().create_future())
        await self._questions.put(question)
        return await question.answer

    async def run(self, run: Run) -> Answered:
        self._task = asyncio.create_task(_awaited(run))
        return await self._result_or_question()

    async def resume(self, responses: Mapping[str, types.InputResponse]) -> Answered:
        """Continues with the client's answer, or repeats the question if there is none."""
        assert self._open is not None
        response = responses.get(KEY)
        if response is None and not (self._task and self._task.done()):
            return self._asking(self._open)
        if response is not None and not self._open.answer.done():
            self._open.answer.set_result(_document(response))
        return await self._result_or_question()

    async def _result_or_question(self) -> Answered:
        """Cancelling this cancels the call."""
        assert self._task is not None
        asked = asyncio.ensure_future(self._questions.get())
        try:
            await asyncio.wait([self._task, asked], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        finally:
            if not asked.done():
                asked.cancel()
        return self._task.result() if self._task.done() else self._asking(asked.result())

    def _asking(self, question: "_Question") -> types.InputRequiredResult:
        self._open = question
        return types.InputRequiredResult(input_requests={KEY: question.request}, request_state=waiting.add(self))

    def abandon(self) -> None:
        if self._task is not None:
            self._task.cancel()


@dataclass(frozen=True, eq=False)
class _Question:
    request: types.InputRequest
    answer: "asyncio.Future[dict[str, Any]]"


async def _awaited(run: Run) -> types.CallToolResult:
    return await run()


class _Waiting:
    """The calls of this process that wait for their client, each under a name that cannot be guessed."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[WaitingCall, asyncio.TimerHandle]] = {}

    def add(self, call: WaitingCall) -> str:
        name = secrets.token_urlsafe(24)
        timer = asyncio.get_running_loop().call_later(PATIENCE, self._expire, name)
        self._calls[name] = call, timer
        if len(self._calls) > MAX_WAITING:
            self._expire(next(iter(self._calls)))
        return name

    def take(self, name: str, owner: str) -> WaitingCall:
        """Removes and returns the waiting call. Raises QuestionClosed if no call of this owner has the name."""
        call, timer = self._calls.get(name, (None, None))
        if call is None or timer is None or call.owner != owner:
            raise QuestionClosed(
                "No call waits for this answer: it came too late, was answered already, or another process asked.",
                reason="question_closed",
                parameter="requestState",
                value=name,
                expected=f"the requestState of a question that was asked at most {PATIENCE:g} seconds ago",
                suggestion="Call the tool again without requestState and inputResponses.",
            )
        timer.cancel()
        del self._calls[name]
        return call

    def _expire(self, name: str) -> None:
        call, timer = self._calls.pop(name)
        timer.cancel()
        call.abandon()


waiting = _Waiting()


async def answered(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams, peer: Peer, operation: str, run: Run
) -> Answered:
    """The answer of `run`, or a question of its upstream. Raises QuestionClosed."""
    session = peer.session or object()
    found = catalogue.find(operation)
    if params.request_state is not None:
        responses = params.input_responses or {}
        try:
            return await waiting.take(params.request_state, peer.caller.owner).resume(responses)
        except QuestionClosed:
            if KEY not in responses or not await _asks_again(operation, peer):
                raise
        with _asked(AnsweringClient(responses[KEY], session)):
            return await run()
    may_ask = found is None or found.asks  # at the first call of a process, the catalogue may still be empty
    if not may_ask or ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        with _asked(ConnectedClient(ctx, session)):
            return await run()
    call = WaitingCall(peer.caller.owner, session, ctx.session.client_capabilities)
    with _asked(call):
        return await call.run(run)


async def _asks_again(operation: str, peer: Peer) -> bool:
    """Whether the operation can be called again with the answer. Loads the operations if this is the first call of the
    process. Raises StoreUnavailable."""
    current = configuration.in_memory()
    if current is None:
        current = await on_thread(peer.limit_key, configuration.current)
    found = current.operations.find(operation, peer.caller.tools.hidden)
    return found is not None and found.asks_again


@contextmanager
def _asked(whom: Client) -> Iterator[None]:
    """Questions of the block's calls go to this client."""
    previous = client.set(whom)
    try:
        yield
    finally:
        client.reset(previous)
