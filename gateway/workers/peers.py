"""Lets the processes of one parent ask each other questions. Each answers on a Unix socket of its own.

A question is a name, and gets one answer: this is how one process shows the sums of all. A conversation is longer, such
as a relayed HTTP request (relay.py).
"""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

from gateway.process import place
from gateway.workers import frames

ANSWER_SECONDS = 3.0  # how long the answers of all other processes together may take
QUESTION = "question"
logger = logging.getLogger(__name__)

Answer = Callable[[], Any]  # blocks; returns a value for MessagePack
Conversation = Callable[[Any, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_answers: dict[str, Answer] = {}
_conversations: dict[str, Conversation] = {}
_servers: dict[asyncio.AbstractEventLoop, asyncio.Server] = {}


def answer_with(question: str, answer: Answer) -> None:
    """Registers this process's answer to a question."""
    _answers[question] = answer


def converse_with(name: str, conversation: Conversation) -> None:
    """Registers the handler of connections whose first document is {name: …}."""
    _conversations[name] = conversation


async def start() -> None:
    """Begins to answer, if this process is one of several."""
    if place.directory() is not None:
        path = place.socket_of(place.number())
        path.unlink(missing_ok=True)  # left by a killed process with the same number
        _servers[asyncio.get_running_loop()] = await asyncio.start_unix_server(_serve, path)


async def stop() -> None:
    server = _servers.pop(asyncio.get_running_loop(), None)
    if server is not None:
        server.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        ((name, content),) = (await frames.read(reader)).items()
        if name in _conversations:
            await _conversations[name](content, reader, writer)
        elif name != QUESTION or content not in _answers:
            logger.warning("another process asked an unknown question", extra={"question": name})
        else:
            writer.write(frames.packed(await asyncio.to_thread(_answers[content])))
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass  # the other process has ended, or no longer waits
    except Exception:
        logger.exception("another worker's question was not answered")
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def answers_of_others(question: str) -> list[Any]:
    """The answers of all other processes that answer in time. Blocks."""
    deadline = time.monotonic() + ANSWER_SECONDS
    return _received(_asked(question, deadline), deadline)


def _asked(question: str, deadline: float) -> list[socket.socket]:
    folder, own = place.directory(), place.number()
    if folder is None:
        return []
    asked: list[socket.socket] = []
    for path in sorted(folder.glob("[0-9]*.sock")):
        if path.stem != str(own):
            connection = socket.socket(socket.AF_UNIX)
            try:
                _wait_until(deadline, connection)
                connection.connect(str(path))
                connection.sendall(frames.packed({QUESTION: question}))
                asked.append(connection)
            except OSError:  # the other process was killed, or is about to start
                connection.close()
    return asked


def _received(asked: list[socket.socket], deadline: float) -> list[Any]:
    answers: list[Any] = []
    for connection in asked:
        with connection, contextlib.suppress(OSError):
            _wait_until(deadline, connection)
            answers.append(frames.read_from(connection))
    return answers


def _wait_until(deadline: float, connection: socket.socket) -> None:
    """Sets the connection's timeout. After the deadline it is 0, so that data which has arrived is still read."""
    connection.settimeout(max(0.0, deadline - time.monotonic()))
