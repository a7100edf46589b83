"""Finds redaction masks in an answer: `meta.withheld` names the redacted fields, and telemetry counts them.

The masks themselves record what was redacted. They stay with the data in the database, in snapshots and in stored
results, so no separate record is needed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from context_protection.core.redaction import POLICY, Visibility, is_secret, kinds_of_path, path_kind

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
    for path, text in _marked(value):
        found.update(Withheld(path, kind, _how(text, path)) for kind in _MASK.findall(text))
    return found


def _marked(value: Any) -> Iterator[tuple[str, str]]:
    """The texts that may have masks, in order, with their paths."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, at = waiting.pop()
        if isinstance(at, str):
            if MARK in at:
                yield path, at
        elif isinstance(at, dict):
            below = f"{path}." if path else ""
            # _may_hold is inlined, because a search evaluates this condition for every field of a stored list.
            waiting += [
                (f"{below}{key}", each)
                for key, each in reversed(at.items())
                if (MARK in each if isinstance(each, str) else isinstance(each, (dict, list)))
            ]
        elif isinstance(at, list):
            below = f"{path}.*" if path else "*"
            waiting += [(below, each) for each in reversed(at) if _may_hold(each)]


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


def paths_in_body(body: bytes, value: Any) -> list[str]:
    """The paths of the masks in `value`, whose JSON is `body`. Faster than `withheld_in`, which also counts them."""
    return [path for path, text in _marked(value) if _MASK.search(text)] if MARK_BYTES in body else []


def withheld_in_text(text: str) -> Counts:
    return Counter(Withheld("", kind, "text") for kind in _MASK.findall(text)) if MARK in text else NOTHING_WITHHELD


def _may_hold(value: Any) -> bool:
    return isinstance(value, (dict, list)) or (isinstance(value, str) and MARK in value)


def _how(text: str, path: str) -> How:
    if not _MASK.fullmatch(text):
        return "text"
    return "field" if path_kind(path) or _MASK.findall(text) == [POLICY] else "pair"


def is_withheld(path: str, visibility: Visibility) -> bool:
    """Whether the policy withholds a name or dotted path, or one of its steps names a secret that is not revealed.
    Follows the rules of `redact`."""
    steps = path.split(".")
    if visibility.withholds(steps):
        return True
    secret = [number for number, kind in enumerate(kinds_of_path(path), start=1) if kind is not None]
    if not secret:
        return len(steps) > 1 and is_secret(path) and not visibility.reveals([path])
    return not all(visibility.reveals(steps[:number]) for number in secret)


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
    why = {each.path: BY_POLICY if each.kind == POLICY else HOW_TO_REVEAL for each in found if each.how != "text"}
    lines = []
    for reason in (HOW_TO_REVEAL, BY_POLICY):
        if requested := [name for name in names if why.get(name) == reason]:
            lines.append(f"{', '.join(requested)[:NAMED_CHARS]}: {reason}")
    return lines


def why_withheld(path: str, visibility: Visibility) -> str:
    """Why a path that `is_withheld` is withheld, and who can change that."""
    return BY_POLICY if visibility.withholds(path.split(".")) else HOW_TO_REVEAL


HOW_TO_REVEAL = 'withheld from this API key; an operator can allow a field under "Revealed fields" of the key.'
BY_POLICY = "withheld from this API key by the setting withheldFields, which an operator can change."
