"""Walks and the cursors into them (FR-003, FR-007, FR-008; rulings 8 to 12).

A walk is stored once, by its first page. A cursor is a sealed position in it: encrypted, signed with
HMAC-SHA256, stamped with its time of issue. It shows nothing, and is worth nothing to another caller.
"""

import base64
import binascii
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from context_protection.errors import invalid_cursor

TTL = 660  # seconds: the ten minutes that are promised, and a minute of grace
LONGEST_TOKEN = 2000  # characters; a longer one was never ours

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


class WalkStore(Protocol):
    """Where walks are kept, shared by all processes. An expired walk is as good as absent."""

    def put(self, walk: Walk) -> None: ...

    def get(self, walk_id: str) -> Walk | None: ...

    def put_block(self, walk: Walk, number: int, data: bytes) -> None: ...

    def block(self, walk_id: str, number: int) -> bytes | None: ...


class Sealer:
    """Seals positions with the first of `keys`, opens with any of them: keys can be rotated."""

    def __init__(self, keys: Sequence[str], clock: Any = time.time) -> None:
        self._fernet = MultiFernet([Fernet(_derived(key)) for key in keys])
        self.clock = clock

    def seal(self, walk_id: str, position: Position) -> str:
        token = self._fernet.encrypt_at_time(orjson.dumps([walk_id, position]), int(self.clock()))
        return token.rstrip(b"=").decode()

    def open(self, token: str) -> tuple[str, Position]:
        """The walk's id and the position. Raises InvalidCursor: cursor_invalid or cursor_expired."""
        padded = _padded(token)
        try:
            content = self._fernet.decrypt(padded)
            issued = self._fernet.extract_timestamp(padded)
        except InvalidToken:
            raise invalid_cursor("cursor_invalid", token, "This is not a cursor of ours, or it was changed.") from None
        if self.clock() - issued > TTL:
            raise invalid_cursor("cursor_expired", token, "The cursor has expired.")
        walk_id, position = orjson.loads(content)
        return walk_id, position


def _derived(key: str) -> bytes:
    """A key for cursors alone, from the application's secret."""
    material = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"sluice cursor").derive(key.encode())
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

    def begin(
        self,
        operation: str,
        caller: str,
        arguments: Mapping[str, Any],
        plan: Mapping[str, Any],
        blocks: Sequence[bytes] = (),
    ) -> Walk:
        """Stores a new walk; the first block of its snapshot travels with it, further ones are kept apart."""
        now = self.sealer.clock()
        walk = Walk(
            id=secrets.token_urlsafe(9),
            operation=operation,
            caller=caller,
            arguments=arguments,
            plan={**plan, "blocks": len(blocks)},
            taken_at=now,
            expires_at=now + 2 * TTL,
            snapshot=blocks[0] if blocks else b"",
        )
        for number, block in enumerate(blocks[1:], start=1):
            self.store.put_block(walk, number, block)
        self.store.put(walk)
        return walk

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

    def cursor(self, walk: Walk, position: Position) -> str:
        return self.sealer.seal(walk.id, position)

    def block(self, walk: Walk, number: int) -> bytes:
        """A block of the walk's snapshot. Raises InvalidCursor when it is gone."""
        block = walk.snapshot if number == 0 else self.store.block(walk.id, number)
        if block is None:
            raise invalid_cursor("cursor_expired", "", "The cursor has expired.")
        return block

    def _kept(self, walk: Walk) -> Walk:
        """The walk, kept alive for as long as the cursors that this page will issue: a write once in a while."""
        now = self.sealer.clock()
        if walk.expires_at - now >= TTL:
            return walk
        longer = replace(walk, expires_at=now + 2 * TTL)
        self.store.put(longer)
        for number in range(1, walk.plan["blocks"]):
            self.store.put_block(longer, number, self.block(walk, number))
        return longer
