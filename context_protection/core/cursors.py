"""Walks and the cursors into them (FR-003, FR-007, FR-008; rulings 8 to 12).

A walk is stored once, by its first page. A cursor is a sealed position in it: encrypted, signed with
HMAC-SHA256, stamped with its time of issue. It shows nothing, and is worth nothing to another caller.

The same call on the same content is the same walk, and within a minute the same cursor: equal bytes for a model's
prompt cache. A walk's id is also the handle of what it goes over, for as long as the walk lives.
"""

import base64
import binascii
import hashlib
import hmac
import re
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Protocol

import orjson
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from context_protection.core.errors import InvalidCursor, InvalidHandle, StoreUnavailable, invalid_cursor

TTL = 660  # seconds: the ten minutes that are promised, and a minute of grace
STAMP = 60  # seconds: cursors of one minute carry one time of issue, at the cost of their grace
AHEAD = 60  # seconds that the clock of the process which issued a cursor may be ahead of ours
KEPT = 3600  # seconds that a walk, and with it a handle, lives at least
REMEMBERED = 7 * 86_400  # seconds after which even the call that made a walk is forgotten
AT_ONCE = 4  # blocks that are read by one question where it is not known how many there are
LONGEST_TOKEN = 2000  # characters; a longer one was never ours
_HANDLE = re.compile(r"[\w-]{16}", re.ASCII)

Position = Any  # JSON: an offset, the key of a row, a path


@dataclass(frozen=True, slots=True)
class Walk:
    """One paging sequence. `arguments` are what it is bound to, `plan` is what its source needs to go on."""

    id: str
    operation: str
    caller: str
    arguments: Mapping[str, Any]
    plan: Mapping[str, Any]
    taken_at: float  # when the snapshot was taken, Unix seconds
    expires_at: float
    snapshot: bytes = field(default=b"", repr=False)
    in_table: bool = field(default=False, compare=False)  # of a store that has two places: which one keeps it
    is_kept: bool = field(default=True, compare=False)  # else nothing can be had by its id: the store has no room

    @property
    def origin(self) -> "Origin":
        return Origin(self.operation, self.caller, self.arguments)

    def pack(self) -> bytes:
        head = orjson.dumps(
            [self.id, self.operation, self.caller, self.arguments, self.plan, self.taken_at, self.expires_at]
        )
        return len(head).to_bytes(4, "big") + head + self.snapshot

    @classmethod
    def unpack(cls, data: bytes) -> "Walk":
        end = 4 + int.from_bytes(data[:4], "big")
        walk = cls(*orjson.loads(data[4:end]))
        return replace(walk, snapshot=bytes(data[end:]))


@dataclass(frozen=True, slots=True)
class Origin:
    """The call that made a walk: what is still known when the walk itself has expired."""

    operation: str
    caller: str
    arguments: Mapping[str, Any]

    def pack(self) -> bytes:
        return orjson.dumps([self.operation, self.caller, self.arguments])

    @classmethod
    def unpack(cls, data: bytes) -> "Origin":
        return cls(*orjson.loads(data))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a new walk goes over: for whose call, what its source needs to go on (`plan`, JSON), and its content."""

    origin: Origin
    plan: Mapping[str, Any]
    blocks: Sequence[bytes] = ()


class WalkStore(Protocol):
    """Where walks are kept, shared by all processes. An expired walk is as good as absent; one that cannot be reached
    is not absent: every method raises StoreUnavailable."""

    def put(self, walk: Walk, blocks: Sequence[bytes] = ()) -> Walk:
        """Keeps the walk until it expires, with its blocks from the first on, and its origin for longer. Returns it as
        it is kept."""

    def get(self, walk_id: str) -> Walk | None: ...

    def recall(self, walk_id: str) -> Walk | None:
        """As `get`, for who can do without: it need not look everywhere."""

    def origin(self, walk_id: str) -> Origin | None: ...

    def add_block(self, walk: Walk, number: int, data: bytes) -> bytes:
        """Keeps the block, unless there is one of that number; returns the one that is there."""

    def blocks(self, walk: Walk, numbers: Sequence[int]) -> list[bytes | None]:
        """All of them by one question."""

    def has_blocks(self, walk: Walk, count: int) -> bool:
        """Whether blocks 1 to `count` are there."""


class Sealer:
    """Seals positions with the first of `keys`, opens with any of them: keys can be rotated."""

    def __init__(self, keys: Sequence[str], clock: Any = time.time) -> None:
        self._sealing = Fernet(derived_key(keys[0], b"sluice cursor"))
        self._opening = MultiFernet([Fernet(derived_key(key, b"sluice cursor")) for key in keys])
        self._naming = derived_key(keys[0], b"sluice walk")
        self.clock = clock

    def seal(self, walk_id: str, position: Position) -> str:
        """Equal positions of a minute are equal tokens: the nonce is made of the content, as in synthetic-IV modes."""
        content, issued = orjson.dumps([walk_id, position]), int(self.clock()) // STAMP * STAMP
        nonce = self._digest(issued.to_bytes(8, "big") + content)[:16]
        return self._sealing._encrypt_from_parts(content, issued, nonce).rstrip(b"=").decode()

    def name(self, *content: bytes) -> str:
        """An id that only this content has, and that nobody else can guess: 96 bits."""
        digest = hashlib.blake2b(key=self._naming, digest_size=12)  # of all rows of a list: five times as fast as HMAC
        for each in content:
            digest.update(len(each).to_bytes(8, "big"))
            digest.update(each)
        return base64.urlsafe_b64encode(digest.digest()).decode()

    def _digest(self, data: bytes) -> bytes:
        return hmac.digest(self._naming, data, hashlib.sha256)

    def open(self, token: str) -> tuple[str, Position]:
        """The walk's id and the position. Raises InvalidCursor: cursor_invalid or cursor_expired."""
        padded = _padded(token)
        try:
            content = self._opening.decrypt(padded)
            issued = self._opening.extract_timestamp(padded)
        except InvalidToken:
            raise invalid_cursor("cursor_invalid", token, "This is not a cursor of ours, or it was changed.") from None
        age = self.clock() - issued
        if age < -AHEAD:
            raise invalid_cursor("cursor_invalid", token, "The cursor was issued in the future, by our clock.")
        if age > TTL:
            raise invalid_cursor("cursor_expired", token, "The cursor has expired.")
        walk_id, position = orjson.loads(content)
        return walk_id, position


def derived_key(key: str, purpose: bytes) -> bytes:
    """A key of Fernet's form for this purpose alone, from the application's secret."""
    material = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(key.encode())
    return base64.urlsafe_b64encode(material)


def _padded(token: str) -> bytes:
    """The token with its padding. Base64 lets the last character vary without effect; ours has one spelling."""
    try:
        if len(token) > LONGEST_TOKEN:
            raise ValueError
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        canonical = base64.urlsafe_b64encode(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        canonical = padded = b""
    if not padded or canonical != padded:
        raise invalid_cursor("cursor_invalid", token, "This is not a cursor of ours, or it was changed.")
    return padded


@dataclass(frozen=True)
class Walks:
    """Opens walks and takes them up again."""

    store: WalkStore
    sealer: Sealer

    def begin(self, snapshot: Snapshot) -> Walk:
        """Stores a new walk; the first block of its snapshot travels with it, further ones are kept apart. The same
        call on the same content takes up the walk that is there already, if the store has lost nothing of it. What
        cannot be stored just now `is_kept` by nobody: the answer goes without ways to more of it (law 5)."""
        walk_id = self._name(snapshot)
        with suppress(StoreUnavailable):  # one that cannot be looked for is stored anew
            if (known := self.store.recall(walk_id)) is not None and self._is_whole(known):
                return self._kept(known)
        packed = [zlib.compress(block, 1) for block in snapshot.blocks]
        origin, now = snapshot.origin, self.sealer.clock()
        walk = Walk(
            id=walk_id,
            operation=origin.operation,
            caller=origin.caller,
            arguments=origin.arguments,
            plan={**snapshot.plan, "blocks": len(packed)},
            taken_at=now,
            expires_at=now + 2 * KEPT,
            snapshot=packed[0] if packed else b"",
        )
        try:
            return self.store.put(walk, packed[1:])
        except StoreUnavailable:
            return replace(walk, is_kept=False)

    def has_begun(self, snapshot: Snapshot) -> bool:
        """Whether `begin` with the same has been called, less than a walk's life ago, as far as can be known."""
        with suppress(StoreUnavailable):
            return self.store.recall(self._name(snapshot)) is not None
        return False

    def _name(self, snapshot: Snapshot) -> str:
        origin = snapshot.origin
        call = [origin.operation, origin.caller, origin.arguments, snapshot.plan]
        return self.sealer.name(orjson.dumps(call, option=orjson.OPT_SORT_KEYS), *snapshot.blocks)

    def resume(self, token: str, operation: str, caller: str, arguments: Mapping[str, Any]) -> tuple[Walk, Position]:
        """The walk that `token` points into. `arguments` are those that the caller sent again: each must be as it
        was at the first page (ruling 12). Raises InvalidCursor."""
        walk_id, position = self.sealer.open(token)
        walk = self.store.get(walk_id)
        if walk is None:
            raise invalid_cursor("cursor_expired", token, "The cursor has expired.")
        if walk.caller != caller:
            raise invalid_cursor("cursor_invalid", token, "The cursor was issued to another key.")
        if walk.operation != operation:
            raise invalid_cursor("cursor_mismatch", token, "The cursor was issued by another operation.")
        for name, value in arguments.items():
            if walk.arguments.get(name) != value:
                raise invalid_cursor(
                    "cursor_mismatch",
                    token,
                    f"The cursor was issued for another {name}; {name} cannot change in a walk.",
                )
        return self._kept(walk), position

    def opened(self, handle: str, caller: str) -> Walk:
        """The walk whose id is `handle`, kept alive; what it goes over is all there. Raises InvalidHandle: a handle of
        another caller's is as one that never was."""
        could_be_ours = _HANDLE.fullmatch(handle)
        walk = self.store.get(handle) if could_be_ours else None
        if walk is not None and walk.caller == caller:
            with suppress(InvalidCursor):  # a block is gone: the handle has expired, and that is what is said
                return self._kept(walk)
        origin = self.store.origin(handle) if could_be_ours else None
        raise invalid_handle(handle, origin if origin and origin.caller == caller else None)

    def cursor(self, walk: Walk, position: Position) -> str:
        return self.sealer.seal(walk.id, position)

    def block(self, walk: Walk, number: int) -> bytes:
        """A block of the walk's snapshot. Raises InvalidCursor when it is gone."""
        return self.blocks(walk, [number])[0]

    def blocks(self, walk: Walk, numbers: Sequence[int]) -> list[bytes]:
        """Blocks of the walk's snapshot, at the cost of one. Raises InvalidCursor when one of them is gone."""
        return [zlib.decompress(_there(block)) for block in self._packed(walk, numbers)]

    def blocks_from(self, walk: Walk, first: int) -> Iterator[bytes]:
        """All blocks from the first-th on, of which some may have been added since the walk began. AT_ONCE are read by
        one question, when they are needed. Raises InvalidCursor when the first is gone."""
        if first == 0:
            yield self.block(walk, 0)  # it came with the walk
        number, more = max(first, 1), True
        while more:
            found = self._packed_from(walk, number)
            if number == first and not found:
                raise _gone()
            yield from map(zlib.decompress, found)
            number, more = number + len(found), len(found) == AT_ONCE

    def add_block(self, walk: Walk, number: int, data: bytes) -> bytes:
        """Goes on with what the walk keeps: the block, or the one of that number that another call has added."""
        return zlib.decompress(self.store.add_block(walk, number, zlib.compress(data, 1)))

    def _is_whole(self, walk: Walk) -> bool:
        further = walk.plan["blocks"] - 1
        return further < 1 or self.store.has_blocks(walk, further)

    def _packed(self, walk: Walk, numbers: Sequence[int]) -> list[bytes | None]:
        apart = [number for number in numbers if number != 0]
        found = dict(zip(apart, self.store.blocks(walk, apart), strict=True)) if apart else {}
        return [walk.snapshot if number == 0 else found[number] for number in numbers]

    def _kept(self, walk: Walk) -> Walk:
        """The walk, kept alive for as long as the cursors that this page will issue: a write once in a while."""
        now = self.sealer.clock()
        if walk.expires_at - now > KEPT:
            return walk
        longer = replace(walk, expires_at=now + 2 * KEPT)
        blocks = [_there(block) for block in self._packed(walk, range(1, walk.plan["blocks"]))]
        more = True
        while more:
            added = self._packed_from(walk, len(blocks) + 1)
            blocks += added
            more = len(added) == AT_ONCE
        with suppress(StoreUnavailable):  # it is there for a while yet
            return self.store.put(longer, blocks)
        return walk

    def _packed_from(self, walk: Walk, first: int) -> list[bytes]:
        found = self.store.blocks(walk, range(first, first + AT_ONCE))
        return [block for block in takewhile(lambda block: block is not None, found) if block is not None]


def _there(block: bytes | None) -> bytes:
    if block is None:
        raise _gone()
    return block


def _gone() -> InvalidCursor:
    return invalid_cursor("cursor_expired", "", "The cursor has expired.")


def invalid_handle(handle: str, origin: Origin | None) -> InvalidHandle:
    """The refusal of a handle: with the call that makes it again, where that is still known."""
    if origin is None:
        return InvalidHandle(
            "There is no such result.",
            reason="handle_invalid",
            parameter="handle",
            value=handle,
            expected="the resultHandle of an answer to this same key",
            suggestion="Call the operation whose answer you want to look into, and take meta.resultHandle from it.",
        )
    return InvalidHandle(
        "The result has expired.",
        reason="handle_expired",
        parameter="handle",
        value=handle,
        expected="a handle that was issued or used within the last hour",
        suggestion=f"Call {origin.operation} with {orjson.dumps(origin.arguments).decode()} again; its answer carries "
        "a new resultHandle.",
        made_by=origin.operation,
    )
