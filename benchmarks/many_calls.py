"""Generates the calls of a busy month, millions of them, for benchmarks of the pages that read them.

Few tools and keys have most of the calls, days are busier than nights, a key has a few clients, a tool has one
upstream, 2 % of calls fail and a twentieth is oversized. Latencies are log-normal.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from multiprocessing import get_context
from typing import Any

from django.db import connection

from telemetry import partitions
from telemetry.models import Rollup, StaleBucket
from telemetry.models.rollups import Level
from telemetry.rollups import marks
from telemetry.rollups.coverage import kept_for
from telemetry.rollups.histogram import bucket_of
from telemetry.storage import CALLS, COLUMNS

TOOLS, KEYS, UPSTREAMS = 120, 50, 12
DAYS = 30
CHUNK = 20_000  # calls that are sorted by time and written together
FAILED, OVERSIZED, CACHED = 0.02, 0.05, 0.15
CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "windsurf", "codex", "curl", "n8n")
REASONS = (  # reason, origin, upstream's status, weight
    ("upstream_timeout", "upstream", 0, 30),
    ("upstream_error", "upstream", 503, 25),
    ("upstream_unavailable", "upstream", 0, 10),
    ("not_found", "caller", 404, 15),
    ("invalid_argument", "caller", 0, 10),
    ("cursor_expired", "caller", 0, 4),
    ("rate_limited", "policy", 0, 4),
    ("internal_error", "sluice", 0, 2),
)
BY_HOUR = tuple(1 + 0.8 * math.sin(math.pi * (hour - 7) / 12) for hour in range(24))


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    connector: str
    upstream: str
    kind: str
    typical_ms: float
    typical_tokens: float


def _zipf(count: int) -> list[float]:
    """The cumulative weights of `count` items. The first item is the most frequent."""
    return list(accumulate(1 / (n + 1) for n in range(count)))


def _tools() -> list[Tool]:
    chance = random.Random(1)  # noqa: S311
    found = []
    for n in range(TOOLS):
        upstream = "" if n % 10 == 9 else f"upstream-{n % UPSTREAMS}"
        kind = chance.choice(("list", "list", "record", "text", "action"))
        found.append(
            Tool(
                f"tool_{n:03}",
                f"connector_{n % 15}",
                upstream,
                kind,
                chance.uniform(20, 800),
                chance.uniform(200, 3000),
            )
        )
    return found


class Generator:
    """Makes rows in the order of storage.COLUMNS."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311
        self._tools, self._tool_weights = _tools(), _zipf(TOOLS)
        self._keys = [f"key-{n:02}" for n in range(KEYS)]
        self._key_weights = _zipf(KEYS)
        self._reason_weights = list(accumulate(weight for *_, weight in REASONS))

    def rows(self, moments: Sequence[datetime]) -> Iterator[tuple[Any, ...]]:
        chance, count = self._chance, len(moments)
        tools = chance.choices(self._tools, cum_weights=self._tool_weights, k=count)
        keys = chance.choices(range(KEYS), cum_weights=self._key_weights, k=count)
        for at, tool, key in zip(moments, tools, keys, strict=True):
            yield self._row(at, tool, key)

    def _row(self, at: datetime, tool: Tool, key: int) -> tuple[Any, ...]:
        chance = self._chance
        client = CLIENTS[(key + (chance.random() < 0.2)) % len(CLIENTS)]
        transport = "rest" if client in ("curl", "n8n") else ("websocket", "http", "stdio")[key % 3]
        is_failed, is_cached = chance.random() < FAILED, chance.random() < CACHED
        oversized = not is_failed and chance.random() < OVERSIZED
        latency = 1.5 if is_cached else tool.typical_ms * chance.lognormvariate(0, 0.7)
        upstream = "" if is_cached and chance.random() < 0.5 else tool.upstream
        upstream_ms = 0.9 * latency if upstream and not is_cached else 0.0
        sent = 120 if is_failed else int(tool.typical_tokens * chance.lognormvariate(0, 0.5))
        original = sent * 12 if oversized else sent
        claude = int(sent * 1.17) if chance.random() < 0.9 else 0
        factor = claude / sent if claude and sent else 1
        is_list = tool.kind == "list"
        page = chance.choice((1, 1, 1, 2, 3)) if is_list else 0
        chain = f"{chance.getrandbits(64):016x}" if is_list and page else ""
        outcome, reason, origin, status, message = "plain", "", "", 200 if upstream else 0, ""
        if is_failed:
            reason, origin, status, _ = chance.choices(REASONS, cum_weights=self._reason_weights, k=1)[0]
            outcome, message = "error", f"{tool.name} failed: {reason}, after {latency:.0f} ms."
        elif oversized:
            outcome = {"list": "paginated", "text": "chunked"}.get(tool.kind, "summarized")
        return (
            f"{chance.getrandbits(128):032x}",
            at,
            self._keys[key],
            client,
            f"2.{key % 7}.{at.day % 5}",
            transport,
            "" if transport == "rest" else "2025-11-25",
            "",
            f"{200 + at.toordinal() % 30}",
            f"{chance.getrandbits(128):032x}" if chance.random() < 0.5 else "",
            tool.name,
            tool.connector,
            "id, fields, limit",
            f"/api/v1/{tool.name}",
            tool.kind,
            outcome,
            origin,
            reason,
            message,
            is_cached,
            latency,
            upstream,
            status,
            1 if upstream_ms else 0,
            upstream_ms,
            "",
            sent * 4,
            20 if is_list else 1,
            500 if is_list else 0,
            sent // 20,
            chain,
            page,
            original,
            sent,
            claude,
            original,
            4000,
            oversized,
            outcome == "paginated",
            outcome == "summarized",
            outcome == "chunked",
            "",
            original - sent,
            round(original * factor),
            round((original - sent) * factor),
            bucket_of(latency),
            bucket_of(upstream_ms),
        )


def moments(chance: random.Random, day: datetime, until: datetime, count: int) -> list[datetime]:
    """`count` moments of a day before `until`, in order."""
    hours = chance.choices(range(24), weights=BY_HOUR, k=count)
    found = (day + timedelta(hours=hour, seconds=3600 * chance.random()) for hour in hours)
    return sorted(moment for moment in found if moment < until)


def write(rows: Iterator[tuple[Any, ...]]) -> None:
    at, adapt = COLUMNS.index("created_at"), connection.ops.adapt_datetimefield_value
    CALLS.insert((*row[:at], adapt(row[at]), *row[at + 1 :]) for row in rows)


def fill_day(day: datetime, until: datetime, count: int) -> None:
    generator = Generator(day.toordinal())
    chance = random.Random(day.toordinal())  # noqa: S311
    times = moments(chance, day, until, count)
    for start in range(0, len(times), CHUNK):
        write(generator.rows(times[start : start + CHUNK]))


def fill(count: int, until: datetime, processes: int = 2) -> None:
    """Empties the tables, and stores about `count` calls in the DAYS days before `until`, with their buckets' marks."""
    days = [until.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=n) for n in range(DAYS + 1)]
    _run(f"{'DELETE FROM' if connection.vendor == 'sqlite' else 'TRUNCATE'} {CALLS.table}")
    Rollup.objects.all().delete()
    StaleBucket.objects.all().delete()
    if connection.vendor == "sqlite":
        for day in reversed(days):
            fill_day(day, until, count // DAYS)
    else:
        known = partitions.days()
        for day in days:
            if day.date() not in known:
                partitions.create(day.date())
        indexes = _drop_indexes()
        connection.close()
        connection.close_pool()  # type: ignore[attr-defined]  # of Postgres
        with get_context("fork").Pool(processes) as pool:
            pool.starmap(fill_day, [(day, until, count // DAYS) for day in reversed(days)], chunksize=1)
        _run(*indexes)
        _run("ANALYZE")  # as autovacuum does in production; nothing there analyzes SQLite, so this does not either
    mark_all(until)


def mark_all(now: datetime) -> None:
    """Marks the buckets of all calls: hours, and those minutes whose rollups are not expired."""
    recent = f"WHERE created_at > '{now - kept_for()[Level.MINUTE]:%Y-%m-%d %H:%M:%S}'"
    for level, unit, form, condition in (
        (60, "minute", "%Y-%m-%d %H:%M:00", recent),
        (3600, "hour", "%Y-%m-%d %H:00:00", ""),
    ):
        is_sqlite = connection.vendor == "sqlite"
        start = f"strftime('{form}', created_at)" if is_sqlite else f"date_trunc('{unit}', created_at, 'UTC')"
        _run(
            f"INSERT INTO {StaleBucket._meta.db_table} (level, start, marks) "  # noqa: S608 (names of our own)
            f"SELECT {level}, {start}, COUNT(*) FROM {CALLS.table} {condition} GROUP BY 2"
        )


def _drop_indexes() -> list[str]:
    """Drops the indexes, which are built faster afterwards; returns the statements that build them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND indexname NOT LIKE '%%_pkey'",
            [CALLS.table],
        )
        found = cursor.fetchall()
    _run(*(f'DROP INDEX "{name}"' for name, _ in found))
    return [definition.replace(" ON ONLY ", " ON ") for _, definition in found]


def _run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def now() -> datetime:
    return datetime.now(UTC)


def fill_gap(since: datetime, until: datetime, count: int) -> int:
    """Stores `count` calls between two moments, and marks their buckets. Returns `count`."""
    chance = random.Random(since.timestamp())  # noqa: S311
    times = sorted(since + (until - since) * chance.random() for _ in range(count))
    write(Generator(int(since.timestamp())).rows(times))
    marks.mark(times)
    return count
