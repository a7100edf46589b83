"""Snapshots (`Walk`) and the cursors into them (FR-003, FR-007, FR-008; rulings 8 to 12).

The first page of a paging sequence stores its snapshot. A cursor is a sealed position in it: encrypted, signed with
HMAC-SHA256, and stamped with its time of issue. It reveals nothing, and is useless to another caller.

The same call on the same content gets the same snapshot, and within a minute the same cursor, so that a model's
prompt cache sees equal bytes. The snapshot's id is also its result handle, for as long as the snapshot lives.
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

TTL = 660  # seconds that a cursor is valid: the promised ten minutes and a minute of grace
STAMP = 60  # seconds to which times of issue are rounded down; the grace of TTL makes up for the loss
AHEAD = 60  # seconds that the clock of the issuing process may be ahead of ours
KEPT = 3600  # seconds that a snapshot and its handle live at least after their last use
REMEMBERED = 7 * 86_400  # seconds that the call which made a snapshot is stored, for errors of expired handles
AT_ONCE = 4  # blocks that one query reads while the number of blocks is unknown
LONGEST_TOKEN = 2000  # characters; we never issue a longer one
_HANDLE = re.compile(r"[\w-]{16}", re.ASCII)

Position = Any  # JSON: an offset, the key of a row, a path


@dataclass(frozen=True, slots=True)
class Walk:
    """One stored paging sequence. It is bound to `arguments`; `plan` is what its source needs to continue."""

    id: str
    operation: str
    caller: str
    arguments: Mapping[str, Any]
    plan: Mapping[str, Any]
    taken_at: float  # when the snapshot was taken, Unix seconds
    expires_at: float
    snapshot: bytes = field(default=b"", repr=False)
    in_table: bool = field(default=False, compare=False)  # for a store in two places: whether the table has it
    is_kept: bool = field(default=True, compare=False)  # False: it could not be stored, so its id leads to nothing

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
    """The call that made a snapshot. It is stored for longer than the snapshot itself."""

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
    """The content of a new `Walk`: its call, what its source needs to continue (`plan`, JSON), and its blocks."""

    origin: Origin
    plan: Mapping[str, Any]
    blocks: Sequence[bytes] = ()


class WalkStore(Protocol):
    """The store of snapshots, shared by all processes. An expired snapshot counts as absent. If the store cannot be
    reached, every method raises StoreUnavailable."""

    def put(self, walk: Walk, blocks: Sequence[bytes] = ()) -> Walk:
        """Stores the snapshot until it expires, with `blocks` as its blocks 1, 2 and so on, and its origin for longer.
        Returns the snapshot as stored."""

    def get(self, walk_id: str) -> Walk | None: ...

    def recall(self, walk_id: str) -> Walk | None:
        """Like `get`, but may return None for a stored snapshot: it need not look in every place."""

    def origin(self, walk_id: str) -> Origin | None: ...

    def add_block(self, walk: Walk, number: int, data: bytes) -> bytes:
        """Stores the block unless one of that number exists. Returns the stored block."""

    def blocks(self, walk: Walk, numbers: Sequence[int]) -> list[bytes | None]:
        """Reads these blocks with one query. None for a missing block."""

    def has_blocks(self, walk: Walk, count: int) -> bool:
        """Whether blocks 1 to `count` exist."""


class Sealer:
    """Seals positions with the first of `keys` and opens them with any of them, so that keys can be rotated."""

    def __init__(self, keys: Sequence[str], clock: Any = time.time) -> None:
        self._sealing = Fernet(derived_key(keys[0], b"sluice cursor"))
        self._opening = MultiFernet([Fernet(derived_key(key, b"sluice cursor")) for key in keys])
        self._naming = derived_key(keys[0], b"sluice walk")
        self.clock = clock

    def seal(self, walk_id: str, position: Position) -> str:
        """Equal positions within a minute give equal tokens: the nonce is derived from the content, as in synthetic-IV
        modes."""
        content, issued = orjson.dumps([walk_id, position]), int(self.clock()) // STAMP * STAMP
        nonce = self._digest(issued.to_bytes(8, "big") + content)[:16]
        return self._sealing._encrypt_from_parts(content, issued, nonce).rstrip(b"=").decode()

    def name(self, *content: bytes) -> str:
        """An id of 96 bits that only this content has, and that cannot be guessed without the key."""
        # It hashes all rows of a list, and BLAKE2 is five times as fast as HMAC.
        digest = hashlib.blake2b(key=self._naming, digest_size=12)
        for each in content:
            digest.update(len(each).to_bytes(8, "big"))
            digest.update(each)
        return base64.urlsafe_b64encode(digest.digest()).decode()

    def _digest(self, data: bytes) -> bytes:
        return hmac.digest(self._naming, data, hashlib.sha256)

    def open(self, token: str) -> tuple[str, Position]:
        """The snapshot's id and the position. Raises InvalidCursor: cursor_invalid or cursor_expired."""
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
    """Derives a Fernet key for one purpose from the application's secret."""
    material = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(key.encode())
    return base64.urlsafe_b64encode(material)


def _padded(token: str) -> bytes:
    """The token with its padding. Base64 allows several last characters for equal data; only one is canonical."""
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
    """Creates snapshots and resumes them."""

    store: WalkStore
    sealer: Sealer

    def begin(self, snapshot: Snapshot) -> Walk:
        """Stores a new snapshot, its first block with it and further blocks separately. If the same call on the same
        content has a stored snapshot that is complete, that one is used. If the store is unavailable, the result has
        `is_kept` False, and the answer offers no way to the rest (law 5)."""
        walk_id = self._name(snapshot)
        with suppress(StoreUnavailable):  # if the store cannot be read, try to store a new one
            if (known := self.store.recall(walk_id)) is not None and self._is_whole(known):
                return self._extended(known)
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
        """Whether `begin` has stored this snapshot and it still lives. False if the store is unavailable."""
        with suppress(StoreUnavailable):
            return self.store.recall(self._name(snapshot)) is not None
        return False

    def _name(self, snapshot: Snapshot) -> str:
        origin = snapshot.origin
        call = [origin.operation, origin.caller, origin.arguments, snapshot.plan]
        return self.sealer.name(orjson.dumps(call, option=orjson.OPT_SORT_KEYS), *snapshot.blocks)

    def resume(self, token: str, operation: str, caller: str, arguments: Mapping[str, Any]) -> tuple[Walk, Position]:
        """The snapshot and the position of `token`. `arguments` are those that the caller repeated; each must be the
        same as for the first page (ruling 12). Raises InvalidCursor."""
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
        return self._extended(walk), position

    def opened(self, handle: str, caller: str) -> Walk:
        """The complete snapshot whose id is `handle`; its life is extended. Raises InvalidHandle. Another caller's
        handle gives the same error as an unknown one."""
        well_formed = _HANDLE.fullmatch(handle)
        walk = self.store.get(handle) if well_formed else None
        if walk is not None and walk.caller == caller:
            with suppress(InvalidCursor):  # a block is gone, so the handle has expired
                return self._extended(walk)
        origin = self.store.origin(handle) if well_formed else None
        raise invalid_handle(handle, origin if origin and origin.caller == caller else None)

    def cursor(self, walk: Walk, position: Position) -> str:
        return self.sealer.seal(walk.id, position)

    def block(self, walk: Walk, number: int) -> bytes:
        """One block of the snapshot. Raises InvalidCursor if it is gone."""
        return self.blocks(walk, [number])[0]

    def blocks(self, walk: Walk, numbers: Sequence[int]) -> list[bytes]:
        """Blocks of the snapshot, read with one query. Raises InvalidCursor if one of them is gone."""
        return [zlib.decompress(_present(block)) for block in self._packed(walk, numbers)]

    def blocks_from(self, walk: Walk, first: int) -> Iterator[bytes]:
        """All blocks from number `first` on, including those added since the snapshot was stored. Reads AT_ONCE blocks
        per query, lazily. Raises InvalidCursor if block `first` is gone."""
        if first == 0:
            yield self.block(walk, 0)  # stored in the snapshot itself
        number, more = max(first, 1), True
        while more:
            found = self._packed_from(walk, number)
            if number == first and not found:
                raise _expired()
            yield from map(zlib.decompress, found)
            number, more = number + len(found), len(found) == AT_ONCE

    def add_block(self, walk: Walk, number: int, data: bytes) -> bytes:
        """Adds a block to the snapshot. Returns the stored block: another call may have added that number first."""
        return zlib.decompress(self.store.add_block(walk, number, zlib.compress(data, 1)))

    def _is_whole(self, walk: Walk) -> bool:
        further = walk.plan["blocks"] - 1
        return further < 1 or self.store.has_blocks(walk, further)

    def _packed(self, walk: Walk, numbers: Sequence[int]) -> list[bytes | None]:
        apart = [number for number in numbers if number != 0]
        found = dict(zip(apart, self.store.blocks(walk, apart), strict=True)) if apart else {}
        return [walk.snapshot if number == 0 else found[number] for number in numbers]

    def _extended(self, walk: Walk) -> Walk:
        """Extends the snapshot's life beyond that of this page's cursors. Writes only when KEPT or less is left."""
        now = self.sealer.clock()
        if walk.expires_at - now > KEPT:
            return walk
        longer = replace(walk, expires_at=now + 2 * KEPT)
        blocks = [_present(block) for block in self._packed(walk, range(1, walk.plan["blocks"]))]
        more = True
        while more:
            added = self._packed_from(walk, len(blocks) + 1)
            blocks += added
            more = len(added) == AT_ONCE
        with suppress(StoreUnavailable):  # the stored snapshot still lives for a while
            return self.store.put(longer, blocks)
        return walk

    def _packed_from(self, walk: Walk, first: int) -> list[bytes]:
        found = self.store.blocks(walk, range(first, first + AT_ONCE))
        return [block for block in takewhile(lambda block: block is not None, found) if block is not None]


def _present(block: bytes | None) -> bytes:
    if block is None:
        raise _expired()
    return block


def _expired() -> InvalidCursor:
    return invalid_cursor("cursor_expired", "", "The cursor has expired.")


def invalid_handle(handle: str, origin: Origin | None) -> InvalidHandle:
    """The error for a handle. If the call that made it is still known, the error names it."""
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
