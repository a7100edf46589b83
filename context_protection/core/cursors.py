"""Snapshots and the cursors into them (FR-003, FR-007, FR-008; rulings 8 to 12).

The first page of a paging sequence stores its snapshot. A cursor is a sealed position in it: encrypted, signed with
HMAC-SHA256, and stamped with its time of issue. It reveals nothing, and is useless to another caller.

The same call on the same content gets the same snapshot, and within the same clock minute the same cursor, so that a
model's prompt cache sees equal bytes. The snapshot's id is also its result handle, for as long as the snapshot lives.
"""

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Protocol

import orjson
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from context_protection.core.compression import compress, decompress
from context_protection.core.errors import InvalidCursor, InvalidHandle, StoreUnavailable, invalid_cursor

TTL = 660  # seconds that a cursor is valid: the promised ten minutes and a minute of grace
ISSUE_STEP = 60  # seconds; a time of issue is rounded down to a multiple, and TTL's minute of grace makes up for it
CLOCK_SKEW = 60  # seconds by which the clock of the process that issued a cursor may be ahead
LIFETIME = 3600  # seconds; a snapshot and its handle live at least this long after their last use
ORIGIN_LIFETIME = 7 * 86_400  # seconds that a snapshot's call stays stored, so that errors can name it
BLOCKS_PER_QUERY = 4  # blocks read with one query while the number of blocks is unknown
NAME_BYTES = 12  # length of a snapshot's id before Base64
LONGEST_TOKEN = 2000  # characters; a longer token is rejected before it is decoded
_HANDLE = re.compile(r"[\w-]{16}", re.ASCII)

Position = Any  # JSON: an offset, the key of a row, a path


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One stored paging sequence. It is bound to `arguments`; `plan` is what its source needs to continue."""

    id: str
    operation: str
    caller: str
    arguments: Mapping[str, Any]
    plan: Mapping[str, Any]
    taken_at: float  # when the snapshot was taken, Unix seconds
    expires_at: float
    first_block: bytes = field(default=b"", repr=False)
    in_table: bool = field(default=False, compare=False)  # True: it is in the table, so a store skips its cache
    is_stored: bool = field(default=True, compare=False)  # False: storing failed, so its id finds nothing

    @property
    def origin(self) -> "SnapshotOrigin":
        return SnapshotOrigin(self.operation, self.caller, self.arguments)

    def in_table_since(self, taken_at: float) -> "Snapshot":
        """The same snapshot in the table, taken at that time. dataclasses.replace takes three times as long."""
        call = self.id, self.operation, self.caller, self.arguments
        return Snapshot(*call, self.plan, taken_at, self.expires_at, self.first_block, True, self.is_stored)

    def pack(self) -> bytes:
        head = orjson.dumps(
            [self.id, self.operation, self.caller, self.arguments, self.plan, self.taken_at, self.expires_at]
        )
        return len(head).to_bytes(4, "big") + head + self.first_block

    @classmethod
    def unpack(cls, data: bytes) -> "Snapshot":
        end = 4 + int.from_bytes(data[:4], "big")
        fields = [*orjson.loads(data[4:end]), bytes(data[end:])]
        return cls(*fields)


@dataclass(frozen=True, slots=True)
class SnapshotOrigin:
    """The call that made a snapshot. It is stored for longer than the snapshot itself."""

    operation: str
    caller: str
    arguments: Mapping[str, Any]

    def pack(self) -> bytes:
        return orjson.dumps([self.operation, self.caller, self.arguments])

    @classmethod
    def unpack(cls, data: bytes) -> "SnapshotOrigin":
        return cls(*orjson.loads(data))


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """The content of a new snapshot: its call, what its source needs to continue (`plan`, JSON), and its blocks."""

    origin: SnapshotOrigin
    plan: Mapping[str, Any]
    blocks: Sequence[bytes] = ()

    def packed(self) -> list[bytes]:
        """The compressed blocks. Those of equal content are equal."""
        return list(map(compress, self.blocks))


class SnapshotStore(Protocol):
    """The store of snapshots, shared by all processes. An expired snapshot counts as absent. A method that cannot reach
    the storage that it needs raises StoreUnavailable."""

    @property
    def defers_writes(self) -> bool:
        """Whether `put` only queues the snapshot, so that it neither blocks nor fails. It then keeps the `taken_at` of
        an equal snapshot that was put before, so callers need not look for one."""

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        """Stores the snapshot until it expires, with `blocks` as its blocks 1, 2 and so on, and its origin for longer.
        Returns the snapshot as stored."""

    def get(self, snapshot_id: str) -> Snapshot | None: ...

    def recall(self, snapshot_id: str) -> Snapshot | None:
        """Like `get`, but may skip slow storage, and so return None for a stored snapshot."""

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None: ...

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        """Stores the block unless one of that number exists. Returns the stored block."""

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        """Reads these blocks with one query. None for a missing block."""

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        """Whether blocks 1 to `count` exist."""


class Sealer:
    """Seals positions with the first of `keys` and opens them with any of them, so that keys can be rotated."""

    def __init__(self, keys: Sequence[str], clock: Any = time.time) -> None:
        self._sealing = Fernet(derived_key(keys[0], b"sluice cursor"))
        self._opening = MultiFernet([Fernet(derived_key(key, b"sluice cursor")) for key in keys])
        self._naming = derived_key(keys[0], b"sluice walk")
        self.clock = clock

    def seal(self, snapshot_id: str, position: Position) -> str:
        """Equal positions give equal tokens within the same clock minute: the nonce is derived from the content, as in
        synthetic-IV modes."""
        content, issued = orjson.dumps([snapshot_id, position]), int(self.clock()) // ISSUE_STEP * ISSUE_STEP
        nonce = self._digest(issued.to_bytes(8, "big") + content)[:16]
        return self._sealing._encrypt_from_parts(content, issued, nonce).rstrip(b"=").decode()

    def name(self, *content: bytes) -> str:
        """An id of 96 bits that only this content has, and that cannot be guessed without the key."""
        # It hashes all rows of a list. Processors have instructions for SHA-256, which takes a third of BLAKE2's time.
        framed = b"".join(part for each in content for part in (len(each).to_bytes(8, "big"), each))
        return base64.urlsafe_b64encode(self._digest(framed)[:NAME_BYTES]).decode()

    def _digest(self, data: bytes) -> bytes:
        return hmac.digest(self._naming, data, hashlib.sha256)

    def open(self, token: str) -> tuple[str, Position]:
        """The snapshot's id and the position. Raises InvalidCursor: cursor_invalid or cursor_expired."""
        padded = _padded(token)
        try:
            content = self._opening.decrypt(padded)
            issued = self._opening.extract_timestamp(padded)
        except InvalidToken:
            raise invalid_cursor(
                "cursor_invalid", token, "The cursor was not issued by this server, or has been altered."
            ) from None
        age = self.clock() - issued
        if age < -CLOCK_SKEW:
            raise invalid_cursor("cursor_invalid", token, "The cursor's time of issue is in the future.")
        if age > TTL:
            raise invalid_cursor("cursor_expired", token, "The cursor has expired.")
        snapshot_id, position = orjson.loads(content)
        return snapshot_id, position


def derived_key(key: str, purpose: bytes) -> bytes:
    """Derives a Fernet key for one purpose from the application's secret."""
    material = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(key.encode())
    return base64.urlsafe_b64encode(material)


def _padded(token: str) -> bytes:
    """The token with its padding. Raises InvalidCursor unless it is canonical Base64, which allows only one of the
    several last characters that decode to the same data."""
    try:
        if len(token) > LONGEST_TOKEN:
            raise ValueError
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        canonical = base64.urlsafe_b64encode(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        canonical = padded = b""
    if not padded or canonical != padded:
        raise invalid_cursor("cursor_invalid", token, "The cursor was not issued by this server, or has been altered.")
    return padded


@dataclass(frozen=True)
class Snapshots:
    """Creates snapshots and resumes them. Methods that need the store raise StoreUnavailable, unless they say what else
    they do."""

    store: SnapshotStore
    sealer: Sealer

    def begin(self, new: NewSnapshot) -> Snapshot:
        """Stores a new snapshot: its first block within it, further blocks separately. If a complete snapshot of the
        same call and content is stored already, returns that one; a store that defers writes replaces it, but keeps
        its time. If the store is unavailable, the result has `is_stored` False, and the answer has no cursor to its
        remainder (law 5)."""
        packed = new.packed()
        snapshot_id = self._name(new, packed)
        if not self.store.defers_writes and (known := self._recalled(snapshot_id)) is not None:
            return known
        origin, now = new.origin, self.sealer.clock()
        snapshot = Snapshot(
            id=snapshot_id,
            operation=origin.operation,
            caller=origin.caller,
            arguments=origin.arguments,
            plan={**new.plan, "blocks": len(packed)},
            taken_at=now,
            expires_at=now + 2 * LIFETIME,
            first_block=packed[0] if packed else b"",
        )
        try:
            return self.store.put(snapshot, packed[1:])
        except StoreUnavailable:
            return replace(snapshot, is_stored=False)

    def _recalled(self, snapshot_id: str) -> Snapshot | None:
        """The stored snapshot. None if it is missing or incomplete, or if the store cannot be read; `begin` then tries
        to store a new one."""
        with suppress(StoreUnavailable):
            if (known := self.store.recall(snapshot_id)) is not None and self._is_complete(known):
                return self._extended(known)
        return None

    def handle_of_text(self, operation: str, identifier: str, version: str) -> str:
        """The handle of one version of a text. No snapshot is stored for it, and every caller gets the same handle."""
        return self.sealer.name(b"text", operation.encode(), identifier.encode(), version.encode())

    def has_stored(self, new: NewSnapshot) -> bool:
        """Whether `begin` has stored this snapshot and it has not expired. Also False if the store is unavailable, or
        would have to look in slow storage."""
        with suppress(StoreUnavailable):
            return self.store.recall(self._name(new, new.packed())) is not None
        return False

    def _name(self, new: NewSnapshot, packed: Sequence[bytes]) -> str:
        """`packed`: the compressed blocks. Equal blocks are equal when compressed, too, and faster to hash."""
        origin = new.origin
        call = [origin.operation, origin.caller, origin.arguments, new.plan]
        return self.sealer.name(orjson.dumps(call, option=orjson.OPT_SORT_KEYS), *packed)

    def resume(
        self, token: str, operation: str, caller: str, arguments: Mapping[str, Any]
    ) -> tuple[Snapshot, Position]:
        """The snapshot and the position of `token`. `arguments` are those that the caller repeated; each must be the
        same as for the first page (ruling 12). Raises InvalidCursor."""
        snapshot_id, position = self.sealer.open(token)
        snapshot = self.store.get(snapshot_id)
        if snapshot is None:
            raise invalid_cursor("cursor_expired", token, "The cursor has expired.")
        if snapshot.caller != caller:
            raise invalid_cursor("cursor_invalid", token, "The cursor was issued to another key.")
        if snapshot.operation != operation:
            raise invalid_cursor("cursor_mismatch", token, "The cursor was issued by another operation.")
        for name, value in arguments.items():
            if snapshot.arguments.get(name) != value:
                raise invalid_cursor(
                    "cursor_mismatch",
                    token,
                    f"The cursor was issued for another {name}; {name} cannot change from page to page.",
                )
        return self._extended(snapshot), position

    def opened(self, handle: str, caller: str) -> Snapshot:
        """The snapshot whose id is `handle`, with its life extended if needed. Raises InvalidHandle. Another caller's
        handle gives the same error as an unknown one."""
        well_formed = _HANDLE.fullmatch(handle)
        snapshot = self.store.get(handle) if well_formed else None
        if snapshot is not None and snapshot.caller == caller:
            with suppress(InvalidCursor):  # a block is gone, so the handle has expired
                return self._extended(snapshot)
        origin = self.store.origin(handle) if well_formed else None
        raise invalid_handle(handle, origin if origin and origin.caller == caller else None)

    def cursor(self, snapshot: Snapshot, position: Position) -> str:
        return self.sealer.seal(snapshot.id, position)

    def block(self, snapshot: Snapshot, number: int) -> bytes:
        """One block of the snapshot. Raises InvalidCursor if it is gone."""
        return self.blocks(snapshot, [number])[0]

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes]:
        """Blocks of the snapshot, read with one query. Raises InvalidCursor if one of them is gone."""
        return [decompress(_present(block)) for block in self._packed(snapshot, numbers)]

    def blocks_from(self, snapshot: Snapshot, first: int) -> Iterator[bytes]:
        """All blocks from number `first` on, including those added since the snapshot was stored. Lazily reads
        BLOCKS_PER_QUERY blocks per query. Raises InvalidCursor if block `first` is gone."""
        if first == 0:
            yield self.block(snapshot, 0)  # stored in the snapshot itself
        number, more = max(first, 1), True
        while more:
            found = self._packed_from(snapshot, number)
            if number == first and not found:
                raise _expired()
            yield from map(decompress, found)
            number, more = number + len(found), len(found) == BLOCKS_PER_QUERY

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        """Adds a block to the snapshot. Returns the stored block: another call may have added that number first."""
        return decompress(self.store.add_block(snapshot, number, compress(data)))

    def _is_complete(self, snapshot: Snapshot) -> bool:
        further = snapshot.plan["blocks"] - 1
        return further < 1 or self.store.has_blocks(snapshot, further)

    def _packed(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        apart = [number for number in numbers if number != 0]
        found = dict(zip(apart, self.store.blocks(snapshot, apart), strict=True)) if apart else {}
        return [snapshot.first_block if number == 0 else found[number] for number in numbers]

    def _extended(self, snapshot: Snapshot) -> Snapshot:
        """Extends the snapshot's life beyond that of this page's cursors. Reads and writes only when LIFETIME or less
        is left; raises InvalidCursor if a block is then missing."""
        now = self.sealer.clock()
        if snapshot.expires_at - now > LIFETIME:
            return snapshot
        longer = replace(snapshot, expires_at=now + 2 * LIFETIME)
        blocks = [_present(block) for block in self._packed(snapshot, range(1, snapshot.plan["blocks"]))]
        more = True
        while more:
            added = self._packed_from(snapshot, len(blocks) + 1)
            blocks += added
            more = len(added) == BLOCKS_PER_QUERY
        with suppress(StoreUnavailable):  # the stored snapshot still lives for a while
            return self.store.put(longer, blocks)
        return snapshot

    def _packed_from(self, snapshot: Snapshot, first: int) -> list[bytes]:
        found = self.store.blocks(snapshot, range(first, first + BLOCKS_PER_QUERY))
        return [block for block in takewhile(lambda block: block is not None, found) if block is not None]


def _present(block: bytes | None) -> bytes:
    if block is None:
        raise _expired()
    return block


def _expired() -> InvalidCursor:
    return invalid_cursor("cursor_expired", "", "The cursor has expired.")


NEW_HANDLE = "Call the list whose rows you want to examine with format=handle, and set handle to its meta.resultHandle."


def invalid_handle(handle: str, origin: SnapshotOrigin | None) -> InvalidHandle:
    """The error for an unknown or expired handle. Names the call that issued the handle, if that is still stored."""
    if origin is None:
        return InvalidHandle(
            "There is no such result.",
            reason="handle_invalid",
            parameter="handle",
            value=handle,
            expected="the resultHandle of an answer that the same key received",
            suggestion=NEW_HANDLE,
        )
    return InvalidHandle(
        "The result has expired.",
        reason="handle_expired",
        parameter="handle",
        value=handle,
        expected="a handle that was issued or used within the last hour",
        suggestion=again_for_handle(origin.operation, origin.arguments),
        made_by=origin.operation,
        made_with=origin.arguments,
    )


def again_for_handle(operation: str, arguments: Mapping[str, Any]) -> str:
    """The suggestion to make a call again, because its result has expired."""
    return f"Call {operation} with {orjson.dumps(arguments).decode()} again; its answer carries a new resultHandle."
