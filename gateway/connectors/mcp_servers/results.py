"""The result of a tool on its way to the caller.

Over MCP, a result that fits its budget is passed on with unchanged content blocks, and with the budget figures in
`_meta`. Otherwise, and always over REST, the result becomes data that is protected like any other.
Over MCP its pictures then follow the text as far as the hard cap allows. Blocks that cannot be content are stored, and
linked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import mcp.types as types

from context_protection.core import tokens
from context_protection.core.budget import Body, claude_tokens, dumps
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import SnapshotOrigin
from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import (
    REMAINDER_NOT_STORED,
    AnswerRequest,
    Envelope,
    NativeContent,
    Outcome,
    Payload,
)
from context_protection.core.policy import Policy
from context_protection.core.redaction import STANDARD, Visibility, redact
from context_protection.stores.snapshots import snapshots
from gateway.connectors.mcp_servers import answers, errors
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.media import Medium, is_binary, medium_of
from gateway.connectors.mcp_servers.sanitizer import masked
from gateway.upstreams.errors import UpstreamRefused

QUERIES = ("where", "aggregate")  # arguments that Sluice answers itself


@dataclass(frozen=True)
class ToolResult:
    """A `NativeResult`. `over_mcp`: the caller speaks MCP. `visibility`: which values the caller's key reveals."""

    server: Server
    result: types.CallToolResult
    over_mcp: bool
    visibility: Visibility = STANDARD

    def answer(self, request: AnswerRequest, policy: Policy, protect: Callable[[Payload], Envelope]) -> Envelope:
        """Raises InvalidArgument if the call has a `where`, but the result has no rows."""
        sending = _Sending(request.origin, policy)
        if self.over_mcp and not _chooses_a_form(request) and not self._holds_secrets:
            passed = sending.passed_on(self._blocks)
            if passed is not None:
                return replace(passed, failure=self._failure if self.result.is_error else None)
        as_data = sending.as_data if self.over_mcp else answers.block_as_data
        if self.result.is_error:
            envelope = replace(protect(self._error_text(as_data)), failure=self._failure)
        else:
            where, is_searched = request.arguments.get("where"), request.search is not None
            envelope = protect(answers.payload(self.result, where, as_data, is_searched=is_searched))
        return sending.with_pictures(envelope, self.result.content) if self.over_mcp else envelope

    @cached_property
    def _blocks(self) -> Sequence[types.ContentBlock]:
        """The content blocks. Structured content that they do not repeat is added as one text block, because clients
        drop the blocks if a result has both."""
        structured = answers.unrepeated(self.result)
        if structured is None:
            return self.result.content
        return [*self.result.content, types.TextContent(type="text", text=dumps(structured).decode())]

    @property
    def _holds_secrets(self) -> bool:
        """Whether something in the result must be masked. Pictures and files are not searched."""
        texts = [block for block in self._blocks if not is_binary(block)]
        data = [answers.read(types.CallToolResult(content=texts)), *map(answers.as_json, texts)]
        shown = "\n".join(map(_shown, texts)) if self.result.is_error else ""
        return bool(redact(data, self.visibility)[1]) or masked(shown, self.server.secrets) != shown

    # -- Errors -------------------------------------------------------------------------------------

    @property
    def _failure(self) -> UpstreamRefused:
        return errors.refused_by_tool(self.server)

    def _error_text(self, as_data: answers.AsData) -> MemoryText:
        """The error's text, which is sent in chunks if it is long, beside the error object."""
        parts = [
            each.text if isinstance(each, types.TextContent) else dumps(as_data(each)).decode() for each in self._blocks
        ]
        return MemoryText(masked("\n".join(parts), self.server.secrets), beside=self._failure.document())


def _chooses_a_form(request: AnswerRequest) -> bool:
    """Whether the caller asks for a form that only Sluice produces: a page, fields, a table, or matching rows."""
    form = (request.snapshot, request.limit, request.fields, request.format, request.pages, request.search)
    return any(each is not None for each in form) or any(name in request.arguments for name in QUERIES)


# -- Content blocks ---------------------------------------------------------------------------------


class _Sending:
    """Turns the blocks of one result into content within the policy's budget, and stores what cannot be content."""

    def __init__(self, origin: SnapshotOrigin, policy: Policy) -> None:
        self.origin, self.policy = origin, policy
        self._media: dict[int, Medium | None] = {}  # by the block's id: decoding a picture takes milliseconds
        self._links: dict[int, types.ContentBlock] = {}  # by the medium's id

    def as_data(self, block: types.ContentBlock) -> dict[str, Any]:
        """The block as JSON; binary content is replaced by facts about it and a link."""
        medium = self._medium(block)
        document = answers.as_json(block)
        return medium.described(document, medium.link(self.origin, snapshots)) if medium else document

    def _medium(self, block: types.ContentBlock) -> Medium | None:
        if id(block) not in self._media:
            self._media[id(block)] = medium_of(block)
        return self._media[id(block)]

    def passed_on(self, blocks: Sequence[types.ContentBlock]) -> Envelope | None:
        """The unchanged blocks, except that links replace pictures and files that cannot be content. None if the text
        exceeds its budget, or if even the links do not fit."""
        text = self._body(blocks)
        if not (text.within_threshold(self.policy) and text.fits(self.policy)):
            return None
        for kept in range(self._most_pictures(blocks, text), -1, -1):
            sent, picture_tokens = self._placed(blocks, kept)
            body = self._body(sent)
            whole = body.with_tokens(picture_tokens)
            if whole.fits(self.policy):
                return self._envelope(whole, sent, picture_tokens)
        return None

    def _most_pictures(self, blocks: Sequence[types.ContentBlock], text: Body) -> int:
        """The maximum number of pictures, from the first on, that fit beside the text. Links to the others also take
        space."""
        costs = [medium.tokens for medium in map(self._medium, blocks) if medium and medium.tokens is not None]
        room = self._room(text.claude_tokens)
        return sum(used <= room for used in accumulate(costs))

    def _placed(self, blocks: Sequence[types.ContentBlock], kept: int) -> tuple[list[types.ContentBlock], int]:
        """The blocks, in which links replace all but the first `kept` pictures, and the tokens of these pictures."""
        sent: list[types.ContentBlock] = []
        used = 0
        for block in blocks:
            medium = self._medium(block)
            if medium is not None and medium.tokens is not None and kept > 0:
                used += medium.tokens
                kept -= 1
                medium = None
            sent.append(block if medium is None else self._link(medium))
        return sent, used

    def _room(self, text_tokens: int) -> int:
        """The tokens that the hard cap leaves for pictures."""
        return int(self.policy.hard_cap / tokens.MARGIN - text_tokens)

    def _link(self, medium: Medium) -> types.ContentBlock:
        """A link to the stored file, or a note that it could not be stored."""
        if id(medium) not in self._links:
            link = medium.link(self.origin, snapshots)
            note = f"[{medium.description}] {REMAINDER_NOT_STORED}"
            self._links[id(medium)] = link or types.TextContent(type="text", text=note)
        return self._links[id(medium)]

    def with_pictures(self, envelope: Envelope, blocks: Sequence[types.ContentBlock]) -> Envelope:
        """The envelope, followed by the pictures and sounds that fit beside it. The envelope has links to all of
        them."""
        text_tokens = claude_tokens(envelope.body, self.policy.hard_cap)  # the envelope's own figure may be approximate
        room, sent, used = self._room(text_tokens), [], 0
        for block in blocks:
            medium = self._medium(block)
            if medium is not None and medium.tokens is not None and used + medium.tokens <= room:
                sent.append(block)
                used += medium.tokens
        if not sent:
            return envelope
        text = types.TextContent(type="text", text=envelope.body.decode())
        return replace(
            envelope,
            claude_tokens=text_tokens + used,
            estimated_tokens=envelope.estimated_tokens + used,
            native=NativeContent((text, *sent), picture_tokens=used),
        )

    def _body(self, blocks: Sequence[types.ContentBlock]) -> Body:
        """The blocks as text for the model."""
        text = "\n".join(_shown(block) for block in blocks if self._medium(block) is None)
        data = text.encode("utf-8", "replace")
        return Body(data, len(text), tokens.formula(text), partial(claude_tokens, data, self.policy.hard_cap))

    def _envelope(self, body: Body, sent: Sequence[types.ContentBlock], picture_tokens: int) -> Envelope:
        estimated = body.estimated_tokens + picture_tokens
        return Envelope(
            body=body.data,
            outcome=Outcome.PLAIN,
            estimated_tokens=estimated,
            claude_tokens=body.claude_tokens,
            original_tokens=estimated,
            native=NativeContent(tuple(sent), _figures(estimated, picture_tokens, self.policy), picture_tokens),
        )


def _shown(block: types.ContentBlock) -> str:
    return block.text if isinstance(block, types.TextContent) else dumps(answers.as_json(block)).decode()


def _figures(estimated: int, picture_tokens: int, policy: Policy) -> Mapping[str, Any]:
    threshold = policy.token_budget_threshold
    return {
        "estimatedTokens": estimated,
        "budgetUsed": round(min(estimated / threshold, 1.0), 4),
        "budgetRemaining": max(threshold - estimated, 0),
        **({"pictureTokens": picture_tokens} if picture_tokens else {}),
    }
