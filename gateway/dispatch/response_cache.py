"""Answers that can be given again: an equal call of the same caller at the same door, while nothing has changed that
the answer rests on. It then costs no thread, no query and no protection, and is byte for byte the same.

Where an upstream must be asked each time, its answer is compared instead: one that has not changed is not protected
again."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson
from django.conf import settings

from context_protection.configuration.revisions import revisions
from context_protection.core.payloads import Envelope
from gateway.catalog.operation import Operation

KEPT_SECONDS = 60.0  # cursors in an answer lose no more than this of their ten minutes
OVERHEAD = 1000  # bytes of an entry beside its body and its arguments


class Key(NamedTuple):
    """What equal calls have in common."""

    operation: str
    caller: str
    hints: Hashable
    arguments: str


@dataclass(frozen=True, slots=True)
class Kept:
    """`state`: of configuration and contents, as the answer was made from them. `version`: of what upstream said;
    None: not known, or there is none."""

    envelope: Envelope
    threshold: int
    state: Hashable
    until: float  # time.monotonic()
    fresh_until: float = math.inf  # the same, until when upstream need not be asked
    version: Hashable = None


class Answers:
    """Never more than `most_bytes`; the longest unused go first."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, key: Key, operation: Operation) -> Kept | None:
        """What is given again without asking anybody."""
        with self._lock:
            if key not in self._kept:
                return None  # the state may not have been read yet, which the loop must not wait for
            kept = self._standing(key, state_of(operation))
            return kept if kept is not None and kept.fresh_until >= time.monotonic() else None

    def unchanged(self, key: Key, state: Hashable, version: Hashable, fresh_until: float) -> Kept | None:
        """What was made of the same answer of upstream, which has just been asked; fresh again until `fresh_until`."""
        with self._lock:
            kept = self._standing(key, state)
            if kept is None or version is None or kept.version != version:
                return None
            self._kept[key] = kept = replace(kept, fresh_until=fresh_until)
            return kept

    def _standing(self, key: Key, state: Hashable) -> Kept | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.until < time.monotonic() or kept.state != state:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return kept

    def keep(self, key: Key, kept: Kept) -> None:
        with self._lock:
            self._drop(key)
            self._kept[key] = kept
            self._bytes += _size(key, kept)
            while self._bytes > self.most_bytes:
                self._drop(next(iter(self._kept)))

    def forget(self, caller: str | None = None) -> None:
        """Drops the answers to one caller, or all: cursors in them have turned out to be lost."""
        with self._lock:
            for key in [key for key in self._kept if caller in (None, key.caller)]:
                self._drop(key)

    def _drop(self, key: Key) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= _size(key, kept)


def _size(key: Key, kept: Kept) -> int:
    """Bytes of an entry: arguments can be longer than the answer."""
    return len(key.arguments) + len(kept.envelope.body) + OVERHEAD


def state_of(operation: Operation) -> Hashable:
    """What an answer made now would rest on. None: answers of this operation are not kept."""
    version = operation.version
    return None if version is None else (revisions.current(), version())


def canonical(arguments: object) -> str:
    """Equal for equal arguments; a text, since orjson's bytes hold on to kilobytes. Raises TypeError for what is no
    JSON."""
    return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()


answers = Answers(settings.ANSWER_CACHE_MB * 1024 * 1024)
