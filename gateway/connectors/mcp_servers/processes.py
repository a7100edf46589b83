"""A server that runs as a child process: started without a shell, with its own environment and its own process group.
Sluice ends it together with all processes that it has started."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.shared.message import SessionMessage

from gateway.connectors.mcp_servers.configuration import StdioServer
from gateway.connectors.mcp_servers.rate_limit import TokenBucket
from gateway.connectors.mcp_servers.sanitizer import quoted
from gateway.connectors.mcp_servers.wire import LARGEST_MESSAGE, Lines, TruncatedLine, message_of

INHERITED = ("PATH", "HOME", "LANG")
READ_BYTES = 1 << 20  # bytes at a time
LOGGED = 2000  # characters of a line on stderr
WRITE_SECONDS = 30.0  # for a child to read what it is sent
EXIT_SECONDS = 2.0  # for a child to exit after its input is closed, and again after SIGTERM

logger = logging.getLogger(__name__)


def environment(server: StdioServer) -> dict[str, str]:
    """The child's environment, which holds none of our secrets."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, **dict(server.environment)}


@asynccontextmanager
async def started(server: StdioServer, ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """Starts a child, and yields its streams for the SDK's client. `ended` is called when the child's output has ended,
    or when it does not read its input. Raises OSError if the command cannot be started."""
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(server),
        cwd=server.directory,
        start_new_session=True,
        limit=READ_BYTES,
    )
    logger.info("MCP server started", extra={"server": server.name, "pid": process.pid})
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    tasks = [
        asyncio.create_task(_read_output(process.stdout, incoming, ended)),
        asyncio.create_task(_write_input(outgoing, process.stdin, ended)),
        asyncio.create_task(_log(process.stderr, server)),
    ]
    try:
        yield received, sent
    finally:
        await asyncio.shield(_end(process, tasks))
        for stream in (incoming, received, sent, outgoing):
            stream.close()
        logger.info("MCP server ended", extra={"server": server.name, "pid": process.pid, "code": process.returncode})


async def _read_output(stdout: asyncio.StreamReader, incoming: Any, ended: Callable[[], None]) -> None:
    lines, pace = Lines(LARGEST_MESSAGE), TokenBucket()
    try:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the reader is closed
            async with incoming:
                while chunk := await stdout.read(READ_BYTES):
                    for line in lines.feed(chunk):
                        if (message := message_of(line)) is not None:
                            await incoming.send(message)
                        elif isinstance(line, TruncatedLine):
                            return  # its request is unknown: ending the connection fails all waiting requests
                        else:
                            await pace.spend(1)
                    if lines.has_no_end:
                        return
    finally:
        ended()


async def _write_input(outgoing: Any, stdin: asyncio.StreamWriter, ended: Callable[[], None]) -> None:
    with suppress(OSError):  # the child has died, which `_read_output` also detects
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(text.encode() + b"\n")
            try:
                await asyncio.wait_for(stdin.drain(), WRITE_SECONDS)
            except TimeoutError:
                ended()
                raise


async def _log(stderr: asyncio.StreamReader, server: StdioServer) -> None:
    lines = Lines(LOGGED * 4, ends=LOGGED)
    while chunk := await stderr.read(READ_BYTES):
        for line in lines.feed(chunk):
            _log_line(line, server)
    for line in lines.rest():
        _log_line(line, server)


def _log_line(line: bytes | TruncatedLine, server: StdioServer) -> None:
    data = line.head if isinstance(line, TruncatedLine) else line
    words = quoted(data.decode("utf-8", "replace"), LOGGED, server.secrets)
    if words:
        logger.info("MCP server says", extra={"server": server.name, "line": words})


async def _end(process: asyncio.subprocess.Process, tasks: list["asyncio.Task[None]"]) -> None:
    """Ends the child as MCP specifies: closes its input and gives it time to exit, then sends SIGTERM, then SIGKILL."""
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    if not await _has_exited(process):
        _signal(process, signal.SIGTERM)
        await _has_exited(process)
    _signal(process, signal.SIGKILL)  # also ends processes that the child has left behind
    await _has_exited(process)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    with suppress(OSError):
        await process.stdin.wait_closed()
    with suppress(TimeoutError):  # reads the rest of the output, as the pipe closes at its end
        async with asyncio.timeout(EXIT_SECONDS):
            while await process.stdout.read(READ_BYTES):
                pass


async def _has_exited(process: asyncio.subprocess.Process) -> bool:
    """Whether the child exits in time. `process.wait` would also wait for its pipes, which other processes may hold
    open."""
    deadline = asyncio.get_running_loop().time() + EXIT_SECONDS
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
