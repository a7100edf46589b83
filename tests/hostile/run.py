"""Clients of one server that read hostile answers, and what they count."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import httpx2
from websockets.exceptions import ConnectionClosed

from tests.e2e import raw
from tests.e2e.serving import Serving
from tests.hostile import judge, upstream
from tests.hostile.calls import ToolCall, following

TRANSPORTS = ("websocket", "websocket", "http", "rest")
FAULTY_SHARE = 0.08  # of the first calls; failures in a row open the API's circuit breaker
LONGEST_WALK = 14  # calls
SHOWN = 1500  # characters of an answer of one walk
LOST = (ConnectionClosed, OSError, httpx2.TransportError)


@dataclass
class Tally:
    """What all clients have seen."""

    answers: int = 0
    walks: int = 0
    largest: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    reports: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "no call")  # seconds, and the call that took them
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def add_log(self, log: str) -> None:
        """The server's: a traceback is a fault, even if its client was told nothing of it."""
        for found in re.finditer(r"Traceback \(most recent call last\).{,2000}", log, re.DOTALL):
            self.faults["traceback in the log"] += 1
            self.reports.append(found[0])

    def summary(self) -> str:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.kinds.most_common())
        wrong = ", ".join(f"{fault} {count:,}" for fault, count in self.faults.most_common()) or "none"
        return (
            f"{self.answers:,} answers to {self.walks:,} bodies in {self.seconds:,.0f} s, "
            f"the largest of {self.largest:,} tokens\n"
            f"slowest: {self.slowest[0]:.1f} s, {self.slowest[1]}\nkinds: {kinds}\n"
            f"over the cap {self.faults['over the cap']}, internal errors {self.faults['internal error']}, "
            f"connections lost {self.faults['connection lost']}; faults: {wrong}"
        )


@dataclass
class HostileRun:
    """Walks are numbered: the seed and a number give the same bodies and the same choices."""

    sluice: Serving
    seed: int
    most_answers: int
    most_seconds: float
    is_shown: bool = False
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._numbers = count()
        self._counting = threading.Lock()

    def all_walks(self, clients: int) -> Tally:
        threads = [threading.Thread(target=self._client) for _ in range(clients)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return self.tally

    def _client(self) -> None:
        with HostileClient(self.sluice) as client:
            while self.tally.answers < self.most_answers and self.tally.seconds < self.most_seconds:
                self.walk(client, next(self._numbers))

    def walk(self, client: "HostileClient", number: int) -> None:
        """One body, and what can be done with its answers."""
        order = Random(f"{self.seed}/{number}")
        transport = order.choice(TRANSPORTS)
        waiting = [self._first(order, number)]
        for _ in range(order.randint(2, LONGEST_WALK)):
            if not waiting:
                break
            call = waiting.pop(order.randrange(len(waiting)))
            answer = self._judged(client, number, transport, call)
            if answer is not None:
                found = list(following(order, call, answer))
                waiting += order.sample(found, min(len(found), 4))
        with self._counting:
            self.tally.walks += 1

    def _first(self, order: Random, number: int) -> ToolCall:
        api = upstream.FAULTY if order.random() < FAULTY_SHARE else "hostile"
        return ToolCall(f"{api}_{order.choice(upstream.TOOLS)}", {"body": f"{self.seed}-{number}"})

    def _judged(self, client: "HostileClient", number: int, transport: str, call: ToolCall) -> dict[str, Any] | None:
        begun = time.monotonic()
        try:
            text = client.call(transport, call)
            seconds = time.monotonic() - begun
            answer = judge.document_of(text)
        except LOST as lost:
            return self._wrong(number, transport, call, f"connection lost: {lost!r}")
        except (ValueError, LookupError) as problem:
            return self._wrong(number, transport, call, f"no answer in JSON: {problem!r}")
        tokens = judge.tokens_of(text, judge.limit_of(answer))
        if self.is_shown:
            print(f"{transport} {call}\n    {tokens:,} tokens: {text[:SHOWN]!r}")
        for fault in judge.faults(answer, text, tokens):
            self._wrong(number, transport, call, fault)
        with self._counting:
            self.tally.answers += 1
            self.tally.largest = max(self.tally.largest, tokens)
            self.tally.slowest = max(self.tally.slowest, (seconds, f"--walk {number}: {transport}, {call}"))
            self.tally.kinds[judge.kind_of(answer)] += 1
        return answer

    def _wrong(self, number: int, transport: str, call: ToolCall, fault: str) -> None:
        report = f"WRONG --seed {self.seed} --walk {number}: {transport}, {call}: {fault}"
        with self._counting:
            self.tally.faults[fault.partition(":")[0]] += 1
            self.tally.reports.append(report)


class HostileClient:
    """One connection of each transport, each opened again after it is lost."""

    def __init__(self, sluice: Serving) -> None:
        self.sluice = sluice
        self._opened: dict[str, tuple[raw.Transport, ExitStack]] = {}

    def __enter__(self) -> "HostileClient":
        return self

    def __exit__(self, *_: object) -> None:
        for _, connection in self._opened.values():
            connection.close()

    def call(self, transport: str, call: ToolCall) -> str:
        """The text of the answer, as a model reads it. A refusal without a result is its JSON-RPC error."""
        if transport not in self._opened:
            connection = ExitStack()
            self._opened[transport] = connection.enter_context(raw.opened(self.sluice, transport)), connection
        opened, connection = self._opened[transport]
        try:
            reply = opened.call(call.tool, json.dumps(dict(call.arguments)).encode())
        except BaseException:
            del self._opened[transport]
            connection.close()
            raise
        return reply.text if transport == "rest" else "".join(_texts(reply.messages[-1]))


def _texts(message: Any) -> Iterator[str]:
    if "result" not in message:
        yield json.dumps({"error": message["error"]})
        return
    for block in message["result"]["content"]:
        yield block["text"] if block["type"] == "text" else json.dumps(block)
