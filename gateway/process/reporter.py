"""Reports on this process every few seconds (telemetry/processes.py), on a thread of its own that no call waits for.

The same thread records two events that no request triggers: a new version has started, or clients get search tools
instead of all tools.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from context_protection.stores.lazy_redis import connect, redis_failures
from gateway.process import memory
from gateway.process.readiness import readiness
from gateway.upstreams import probes
from gateway.upstreams.client import UpstreamState
from gateway.upstreams.registry import upstreams
from gateway.version import VERSION
from telemetry import audits, events, processes, recorder
from telemetry.arguments import switches
from telemetry.models import ProcessReport
from telemetry.storage import release_connection

if TYPE_CHECKING:
    import redis

SECONDS = 5.0
SLOW_FIGURES_SECONDS = 60.0  # between two computations of figures that change slowly
SEARCH, ALL_TOOLS = "search", "all tools"

logger = logging.getLogger(__name__)

ToolList = Callable[[], dict[str, Any]]


class Reporter:
    def __init__(self) -> None:
        self.process = uuid4()
        self.kind = ProcessReport.ProcessKind.WEB
        self._started_at = datetime.now(UTC)
        self._tool_list: ToolList | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._is_failing = False
        self._slow_figures_at = 0.0
        self._accuracy: dict[str, Any] = {}
        self._redis: redis.Redis | None = None

    def describe_tool_list(self, tool_list: ToolList) -> None:
        """Registers a function that returns {tokens, budget, tools, isSearch}, in processes that serve MCP."""
        self._tool_list = tool_list

    def start(self, kind: ProcessReport.ProcessKind) -> None:
        """Starts the thread, unless it runs: the embedded process is of all kinds at once, and reports as WEB."""
        if self._thread is None or kind == ProcessReport.ProcessKind.WEB:
            self.kind = kind
        if self._thread is None:
            self._ended.clear()
            self._thread = threading.Thread(target=self._run, name="process-report", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread, which then deletes the report, so that this process does not appear hung."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(SECONDS)
            self._thread = None

    def _run(self) -> None:
        while not self._ended.is_set():
            self._attempt(self.report)
            self._ended.wait(SECONDS)
        self._attempt(lambda: processes.forget(self.process))
        connection.close()

    def _attempt(self, work: Callable[[], object]) -> None:
        try:
            work()
            self._is_failing = False
        except Exception as error:
            if not self._is_failing:
                logger.warning("the process cannot report", extra={"error": type(error).__name__})
            self._is_failing = True
        finally:
            release_connection()

    def report(self) -> None:
        """Writes one report. Blocks."""
        memory.return_free_memory()
        tool_list = self._tool_list() if self._tool_list else None
        if time.monotonic() >= self._slow_figures_at:
            self._refresh_slow_figures()
            self._slow_figures_at = time.monotonic() + SLOW_FIGURES_SECONDS
        switches.refresh()
        processes.write(
            self.process,
            kind=self.kind,
            host=processes.this_host(),
            pid=os.getpid(),
            started_at=self._started_at,
            version=VERSION,
            revision=str(revisions.current())[:32],
            report={
                "recorder": _recorder(),
                "stores": {"database": _database(), "redis": self._redis_state(), "room": _room()},
                "upstreams": [upstream_document(each) for each in upstreams.states()],
                "toolList": tool_list,
                "ruler": tokens.claude.degraded or "ok",
                "accuracy": self._accuracy,
            },
        )
        if tool_list is not None:
            _note_tool_list(tool_list)

    def _refresh_slow_figures(self) -> None:
        figures = audits.summary()
        self._accuracy = {
            "n": figures.count,
            "claudeWithin": figures.claude_within,
            "formulaWithin": figures.formula_within,
        }
        processes.purge()
        events.record_if_new(
            kind=events.EventKind.DEPLOYMENT, subject="Sluice", after=VERSION, summary=f"Version {VERSION} started."
        )

    def _redis_state(self) -> dict[str, Any] | None:
        if not settings.REDIS_URL:
            return None
        self._redis = self._redis or connect(settings.REDIS_URL)
        began = time.perf_counter()
        try:
            answers = bool(self._redis.ping())
        except redis_failures():
            answers = False
        return {"ms": _milliseconds(began), "ok": answers}


def _recorder() -> dict[str, Any]:
    state = recorder.state()
    return {
        "queued": state.queued,
        "stored": state.stored,
        "dropped": state.dropped,
        "lastDroppedAt": state.last_dropped_at.isoformat() if state.last_dropped_at else None,
        "lagSeconds": round(state.lag_seconds, 2),
        "lastError": state.last_error,
    }


def _database() -> dict[str, Any]:
    began = time.perf_counter()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        answers = True
    except (DatabaseError, InterfaceError):
        answers = False
    return {"ms": _milliseconds(began), "ok": answers, **_pool()}


def _pool() -> dict[str, int | None]:
    pool = getattr(connection, "pool", None) if connection.vendor == "postgresql" else None
    if pool is None:
        return {"poolUsed": None, "poolSize": None}
    figures = pool.get_stats()
    return {"poolUsed": figures["pool_size"] - figures["pool_available"], "poolSize": figures["pool_max"]}


def _room() -> bool:
    return bool(readiness.document().get("room", True))


def _milliseconds(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 1)


def upstream_document(state: UpstreamState) -> dict[str, Any]:
    probe = probes.result_of(state.name)
    return {
        "name": state.name,
        "connector": state.connector,
        "breaker": state.breaker,
        "lastSuccessAt": _iso(state.last_success_at),
        "lastFailureAt": _iso(state.last_failure_at),
        "lastFailure": state.last_failure,
        "rateLeft": state.rate_left,
        "rateLimit": state.rate_limit,
        "nextTryInSeconds": round(state.next_try_seconds, 1),
        "probe": probe.document() if probe else None,
    }


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def _note_tool_list(tool_list: dict[str, Any]) -> None:
    after = SEARCH if tool_list["isSearch"] else ALL_TOOLS
    figures = f"{tool_list['tools']:,} tools take {tool_list['tokens']:,} of {tool_list['budget']:,} tokens"
    what = "Clients get search tools instead of all tools" if tool_list["isSearch"] else "Clients get all tools again"
    events.record_if_new(
        kind=events.EventKind.TOOL_LIST,
        subject="tool list",
        after=after,
        summary=f"{what}: {figures}.",
        usual=ALL_TOOLS,
    )


reporter = Reporter()
