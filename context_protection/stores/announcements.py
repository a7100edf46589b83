"""Short messages to all other processes that use the same shared store (shared_store.py). Nothing here blocks a call.

In a process, each topic has one follower. Values that are kept under a topic also reach processes that start later.
Without a shared store, or before `start`, nothing is sent.
"""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from context_protection.stores.lazy_redis import connect, redis_failures
from context_protection.stores.shared_store import deployment, shared_url

if TYPE_CHECKING:
    import redis

POLL_SECONDS = 1.0  # between two checks whether to stop listening
RETRY_SECONDS = 0.5  # pause after the store could not be reached
KEPT_SECONDS = 3600  # how long the values of a topic are kept after the last one was stored

Follower = Callable[[Any], None]
Command = Callable[["redis.Redis"], object]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Topic:
    """`heard` is called with each message from another process, `caught_up` with all kept values by key, whenever this
    process begins to listen. Both are called on the listening thread."""

    heard: Follower
    caught_up: Callable[[dict[str, Any]], None] | None = None


class Announcements:
    def __init__(self) -> None:
        self._me = uuid4().hex
        self._topics: dict[str, Topic] = {}
        self._commands: SimpleQueue[Command | None] = SimpleQueue()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._is_failing = False

    def follow(self, name: str, topic: Topic) -> None:
        self._topics[name] = topic

    def tell(self, topic: str, message: Any) -> None:
        """Sends a message, a JSON value, to all other processes."""
        if self._threads:
            text = json.dumps({"from": self._me, "topic": topic, "message": message})
            self._commands.put(lambda client: client.publish(_channel(), text))

    def keep(self, topic: str, key: str, value: Any) -> None:
        """Keeps a value for processes that start later. None removes it."""
        if self._threads:
            self._commands.put(partial(_keep, topic, key, value))

    def start(self) -> None:
        """Begins to send and to listen, if there is a shared store. Safe to call again."""
        if self._threads or not shared_url():
            return
        self._ended.clear()
        self._threads = [
            threading.Thread(target=target, name=f"announcements-{target.__name__.strip('_')}", daemon=True)
            for target in (self._send, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Sends the queued messages, and ends the threads. Waits at most 2 * POLL_SECONDS for each thread."""
        self._ended.set()
        self.tell("", None)  # wakes the listening thread, which ignores messages of its own process
        self._commands.put(None)
        for thread in self._threads:
            thread.join(2 * POLL_SECONDS)
        self._threads = []

    def _send(self) -> None:
        client = connect(shared_url())
        while (command := self._commands.get()) is not None:
            try:
                command(client)
            except redis_failures() as error:  # the message is lost; the other processes keep the state that they know
                self._log_failure(error)

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                self._follow_messages(connect(shared_url()))
            except redis_failures() as error:
                self._log_failure(error)
                self._ended.wait(RETRY_SECONDS)

    def _follow_messages(self, client: "redis.Redis") -> None:
        with client.pubsub(ignore_subscribe_messages=True) as messages:  # type: ignore[no-untyped-call]
            messages.subscribe(_channel())
            messages.get_message(timeout=POLL_SECONDS)  # the confirmation: from here on, nothing is missed
            self._catch_up(client)
            while not self._ended.is_set():
                message = messages.get_message(timeout=POLL_SECONDS)
                if message is not None:
                    self._is_failing = False
                    self._safely(self._hear, message["data"])

    def _hear(self, text: bytes) -> None:
        document = json.loads(text)
        topic = self._topics.get(document["topic"])
        if topic is not None and document["from"] != self._me:
            topic.heard(document["message"])

    def _catch_up(self, client: "redis.Redis") -> None:
        for name, topic in self._topics.items():
            if topic.caught_up is not None:
                kept: dict[bytes, bytes] = client.hgetall(_kept_key(name))  # type: ignore[assignment]
                self._safely(partial(_parsed, topic.caught_up), kept)

    def _safely(self, function: Callable[[Any], None], argument: Any) -> None:
        try:
            function(argument)
        except Exception:
            logger.exception("an announcement was not understood")

    def _log_failure(self, error: Exception) -> None:
        """Logs a failure, and no further one until a message arrives."""
        if not self._is_failing:
            logger.warning("announcements to other processes interrupted", extra={"error": type(error).__name__})
        self._is_failing = True


def _parsed(caught_up: Follower, kept: dict[bytes, bytes]) -> None:
    caught_up({key.decode(): json.loads(value) for key, value in kept.items()})


def _keep(topic: str, key: str, value: Any, client: "redis.Redis") -> None:
    if value is None:
        client.hdel(_kept_key(topic), key)
    else:
        client.hset(_kept_key(topic), key, json.dumps(value))
        client.expire(_kept_key(topic), KEPT_SECONDS)


def _channel() -> str:
    return f"sluice:announcements:{deployment()}"


def _kept_key(topic: str) -> str:
    return f"sluice:kept:{deployment()}:{topic}"


announcements = Announcements()
