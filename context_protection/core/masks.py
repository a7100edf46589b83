"""Finds redaction masks in an answer: `meta.withheld` names the redacted fields, and telemetry counts them.

The masks themselves record what was redacted. They stay with the data in the database, in snapshots and in stored
results, so no separate record is needed.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from context_protection.core.redaction import is_secret, kinds_of_path, path_kind
from context_protection.core.redaction.folding import compact

MARK = "[withheld: "
MARK_BYTES = MARK.encode()
NAMED_PATHS, NAMED_CHARS = 40, 80
_MASK = re.compile(r"\[withheld: ([A-Za-z][A-Za-z -]{0,39})\]")

How = Literal["field", "pair", "text"]


@dataclass(frozen=True, slots=True)
class Withheld:
    """A field that was masked, wholly or in part. `path` has `*` for the elements of a list."""

    path: str
    kind: str
    how: How


Counts = Mapping[Withheld, int]
NOTHING_WITHHELD: Counts = {}


def withheld_in(value: Any) -> Counts:
    """The masks in a JSON value, in order, with their counts."""
    found: Counter[Withheld] = Counter()
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, at = waiting.pop()
        if isinstance(at, str):
            if MARK in at:
                found.update(Withheld(path, kind, _how(at, path)) for kind in _MASK.findall(at))
        elif isinstance(at, dict):
            below = f"{path}." if path else ""
            # Without a call of _may_hold: a search passes every field of a stored list through this condition.
            waiting += [
                (f"{below}{key}", each)
                for key, each in reversed(at.items())
                if (MARK in each if isinstance(each, str) else isinstance(each, (dict, list)))
            ]
        elif isinstance(at, list):
            below = f"{path}.*" if path else "*"
            waiting += [(below, each) for each in reversed(at) if _may_hold(each)]
    return found


def withheld_in_rows(rows: Iterable[Mapping[str, Any]]) -> Counts:
    """The masks in the rows of a list. Paths are relative to a row."""
    found: Counter[Withheld] = Counter()
    for row in rows:
        found.update(withheld_in(row))
    return found


def withheld_in_body(body: bytes, rows: Iterable[Mapping[str, Any]]) -> Counts:
    """The masks in the rows of the JSON `body`. Most bodies have none, and a search of the bytes is a hundred times as
    fast as a search of the values."""
    return withheld_in_rows(rows) if MARK_BYTES in body else NOTHING_WITHHELD


def withheld_in_text(text: str) -> Counts:
    return Counter(Withheld("", kind, "text") for kind in _MASK.findall(text)) if MARK in text else NOTHING_WITHHELD


def _may_hold(value: Any) -> bool:
    return isinstance(value, (dict, list)) or (isinstance(value, str) and MARK in value)


def _how(text: str, path: str) -> How:
    if not _MASK.fullmatch(text):
        return "text"
    return "field" if path_kind(path) else "pair"


def is_withheld(path: str, reveal: Collection[str]) -> bool:
    """Whether a name, or any step of a dotted path, names a secret that is not revealed, by the rules of `redact`."""
    steps = path.split(".")
    secret = [number for number, kind in enumerate(kinds_of_path(path), start=1) if kind is not None]
    if not secret:
        return len(steps) > 1 and is_secret(path) and compact(path) not in _folded(frozenset(reveal))
    revealed = _folded(frozenset(reveal))
    return not all(_is_revealed(steps[:number], revealed) for number in secret)


def _is_revealed(steps: Sequence[str], revealed: Collection[str]) -> bool:
    names = [compact(step) for step in steps if step != "*"]
    return any(name in revealed for name in names) or ".".join(names) in revealed


@lru_cache(maxsize=1024)
def _folded(reveal: frozenset[str]) -> frozenset[str]:
    return frozenset(".".join(map(compact, name.split("."))) for name in reveal)


def note(paths: Iterable[str]) -> dict[str, list[str]]:
    """`meta.withheld`: the redacted paths. Long paths are truncated; paths beyond NAMED_PATHS are only counted."""
    every = list(dict.fromkeys(paths))
    if not every:
        return {}
    named = [path if len(path) <= NAMED_CHARS else f"{path[:NAMED_CHARS]}…" for path in every[:NAMED_PATHS]]
    more = [f"… and {len(every) - NAMED_PATHS:,} more"] if len(every) > NAMED_PATHS else []
    return {"withheld": named + more}


def paths(found: Counts) -> list[str]:
    return list(dict.fromkeys(each.path for each in found))


def advice(names: Sequence[str], found: Counts) -> list[str]:
    """The lines for `meta.notes` if `names` contains a redacted field."""
    wholly = {each.path for each in found if each.how != "text"}
    requested = [name for name in names if name in wholly]
    return [f"{', '.join(requested)[:NAMED_CHARS]}: {HOW_TO_REVEAL}"] if requested else []


HOW_TO_REVEAL = 'withheld from this API key; an operator can allow a field under "Revealed fields" of the key.'
