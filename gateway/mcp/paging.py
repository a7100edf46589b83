"""Pages of the server's lists (tools, prompts, resource templates), each under the hard cap (law 1)."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeVar

from pydantic import BaseModel

from context_protection.configuration.policies import policy_for
from context_protection.core.errors import invalid_cursor
from context_protection.core.tokens import MARGIN, claude
from context_protection.stores.snapshots import snapshots

Entry = TypeVar("Entry", bound=BaseModel)
OVERHEAD = 200  # tokens of an answer without its entries: names, a cursor, the cache lifetime


def page(
    listed: str, entries: Sequence[Entry], tokens: Sequence[int], cursor: str | None
) -> tuple[list[Entry], str | None]:
    """The entries from `cursor` on that fit the hard cap (at least one), and the cursor for the rest. `tokens`: the
    entries' sizes. `listed`: the name of the list. A cursor is valid only for the list that issued it. Blocks. Raises
    InvalidCursor."""
    start = 0 if cursor is None else _position(listed, cursor)
    rest = list(entries[start:])
    count = max(1, fitting(tokens[start:]))
    return rest[:count], snapshots.sealer.seal(listed, start + count) if count < len(rest) else None


def fitting(tokens: Sequence[int]) -> int:
    """How many of the first entries fit one answer. `tokens`: the entries' sizes. Blocks."""
    room = policy_for("").hard_cap / MARGIN - OVERHEAD
    return sum(size <= room for size in accumulate(tokens))


def tokens_of(texts: Iterable[str]) -> list[int]:
    return [claude.count(text) for text in texts]


def written(entry: BaseModel) -> str:
    """An entry's JSON, as sent to clients."""
    return entry.model_dump_json(by_alias=True, exclude_none=True)


def _position(listed: str, cursor: str) -> int:
    issued_by, position = snapshots.sealer.open(cursor)
    if issued_by != listed:
        raise invalid_cursor("cursor_mismatch", cursor, "The cursor was issued by another list.")
    return int(position)
