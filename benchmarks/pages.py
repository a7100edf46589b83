"""Measures the telemetry pages over many calls: each address cold and warm, with its SQL statements.

Compare the CPU times, which cover this process and Postgres: other programs affect them least.

DATABASE_URL=postgres://… python -m benchmarks.pages --fill 10000000      # empties the calls of that database
DATABASE_URL=postgres://… python -m benchmarks.pages --only calls/ --ranges 30d --slower-than 500
"""

import argparse
import logging
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
os.environ.setdefault("SHARED_REVISIONS", "false")
os.environ.setdefault("LOG_LEVEL", "ERROR")

import django

django.setup()

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponseBase
from django.test import Client
from django.test.utils import CaptureQueriesContext, setup_test_environment

from benchmarks import many_calls
from benchmarks.processes import cpu_seconds
from telemetry.models import TelemetryRecord
from telemetry.models.alerts import AlertRule
from telemetry.rollups.builder import build_stale

RANGES = ("1h", "24h", "7d", "30d")
TOOL, KEY, UPSTREAM = "tool_000", "key-00", "upstream-0"
RARE_TOOL, RARE_KEY = "tool_110", "key-48"
FILTERS = (
    "",
    f"tool={TOOL}",
    f"key={KEY}",
    f"upstream={UPSTREAM}",
    "origin=upstream",
    "outcome=error",
    "reason=upstream_timeout",
    "client=cursor",
    "transport=http",
    f"tool={TOOL}&key={KEY}",
    "cache=yes",
    "oversized=yes",
    "min_ms=2000",
    "compare=week",
)
PAGES = (
    "",
    "overview/",
    "overview/?by=key",
    "overview/?by=tool,client",
    "tools/",
    f"tools/{TOOL}/",
    f"tools/{RARE_TOOL}/",
    "callers/",
    f"callers/{KEY}/",
    f"callers/{RARE_KEY}/",
    "upstreams/",
    f"upstreams/{UPSTREAM}/",
    "calls/",
    "calls/?q=upstream_timeout",
)
WITHOUT_FILTERS = ("tools/?export=csv", "overview/?by=tool&export=json", "calls/?export=csv")
WITHOUT_RANGE = (
    "live/",
    "live/calls/?after={after}",
    "calls/{failed}/",
    "calls/{chained}/",
    "calls/?cursor={cursor}",
    "accuracy/",
    "alerts/",
    "alerts/rules/",
    "alerts/history.csv",
    "search/?q=tool_00",
    "search/?q={failed}",
    "search/?q=nothing-has-this-name",
)
OTHERS = ("/health", "/", "/metrics", "/admin/", "/admin/telemetry/telemetryrecord/")
NO_READ = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "SET ", "ROLLBACK")


@dataclass(frozen=True, slots=True)
class Measured:
    address: str
    cold_ms: float
    warm_ms: float
    cpu_ms: float
    statements: int
    reads: int
    kilobytes: float
    slowest_ms: float
    slowest: str


def addresses(ranges: Sequence[str], filters: Sequence[str]) -> Iterator[str]:
    for span in ranges:
        for page in PAGES:
            for chosen in filters:
                joint = "&" if "?" in page else "?"
                yield f"/telemetry/{page}{joint}range={span}{f'&{chosen}' if chosen else ''}"
        for page in WITHOUT_FILTERS:
            yield f"/telemetry/{page}&range={span}"
    known = _known()
    yield from (f"/telemetry/{page.format(**known)}" for page in WITHOUT_RANGE)
    yield from OTHERS
    yield from (f"/telemetry/alerts/rules/{pk}/" for pk in AlertRule.objects.values_list("pk", flat=True))
    yield "/telemetry/alerts/rules/new/?kind=slow"


def _known() -> dict[str, object]:
    calls = TelemetryRecord.objects.order_by("-created_at")
    middle = calls.filter(created_at__lt=many_calls.now() - timedelta(days=10)).first()
    failed, chained = calls.filter(outcome="error").first(), calls.exclude(chain="").first()
    if middle is None or failed is None or chained is None:
        raise SystemExit("There are no calls: use --fill.")
    return {
        "after": (calls.order_by("-pk").values_list("pk", flat=True).first() or 0) - 50,
        "failed": failed.measurement.request_id,
        "chained": chained.measurement.request_id,
        "cursor": f"before:{middle.measurement.at.timestamp():.6f}-{middle.pk}",
    }


def measure(client: Client, address: str, runs: int) -> Measured:
    cold, _ = _timed(client, address)
    before = _cpu()
    warm = [_timed(client, address) for _ in range(runs)]
    cpu = 1000 * (_cpu() - before) / runs
    with CaptureQueriesContext(connection) as asked:
        _timed(client, address)
    statements = [each["sql"] for each in asked]
    slowest = max(asked, key=lambda each: float(each["time"]), default={"time": "0", "sql": ""})
    return Measured(
        address,
        cold,
        statistics.median(milliseconds for milliseconds, _ in warm),
        cpu,
        len(statements),
        sum(not (each.startswith(NO_READ) or "set_config" in each or "current_setting" in each) for each in statements),
        warm[0][1] / 1024,
        1000 * float(slowest["time"]),
        slowest["sql"],
    )


def _cpu() -> float:
    """CPU seconds of this thread and of Postgres's processes for the database; on SQLite, of this thread only."""
    if connection.vendor != "postgresql":
        return time.thread_time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return time.thread_time() + sum(cpu_seconds(pid) for (pid,) in cursor.fetchall())


def _timed(client: Client, address: str) -> tuple[float, int]:
    """The milliseconds and bytes of an answer; for a streamed file, those of its first part."""
    began = time.perf_counter()
    response: HttpResponseBase = client.get(address)
    body = next(iter(response), b"") if response.streaming else getattr(response, "content", b"")
    response.close()
    if response.status_code not in (200, 302):
        raise SystemExit(f"{address} answered {response.status_code}.")
    if b"longer than" in body and b"was stopped" in body:
        print(f"  a panel of {address} was stopped")
    return 1000 * (time.perf_counter() - began), len(body)


def top_up(until: datetime) -> int:
    """Adds calls since the last one, as many as in the same time before it, so that "now" is as busy as the past."""
    last = TelemetryRecord.objects.order_by("-created_at").values_list("created_at", flat=True).first()
    if last is None or until - last < timedelta(seconds=5):
        return 0
    before = TelemetryRecord.objects.filter(created_at__gte=last - (until - last), created_at__lt=last).count()
    return many_calls.fill_gap(last, until, before)


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--fill", type=int, default=0, help="empty the calls, and store so many")
    parser.add_argument("--only", default="", help="addresses that contain this")
    parser.add_argument("--without", default="", help="not those that contain this")
    parser.add_argument("--ranges", nargs="+", default=RANGES)
    parser.add_argument("--filters", nargs="+", default=FILTERS, help="such as tool=tool_000; none: without")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--slower-than", type=float, default=0, help="print only addresses that took more CPU, in ms")
    parser.add_argument("--sql", action="store_true", help="print the slowest statement of each")
    options = parser.parse_args()
    logging.getLogger("telemetry").setLevel(logging.CRITICAL)

    call_command("migrate", verbosity=0)
    if options.fill:
        began = time.perf_counter()
        many_calls.fill(options.fill, many_calls.now())
        print(f"filled in {time.perf_counter() - began:.0f} s")
    added = top_up(many_calls.now())
    began = time.perf_counter()
    built = build_stale()
    print(f"{added} calls added; {built} buckets built in {time.perf_counter() - began:.2f} s")
    setup_test_environment()
    client = _client()
    print(f"{'address':90} {'cold':>7} {'warm':>7} {'CPU':>7} {'SQL':>4} {'reads':>5} {'KB':>5} {'slowest':>7}")
    found = []
    for address in addresses(options.ranges, [each.removeprefix("none") for each in options.filters]):
        if options.only in address and not (options.without and options.without in address):
            found.append(measure(client, address, options.runs))
            if found[-1].cpu_ms > options.slower_than:
                _show(found[-1], with_sql=options.sql)
    slow = [each for each in found if each.cpu_ms > 500]
    most = max((each.reads for each in found), default=0)
    print(f"{len(found)} addresses, {len(slow)} over 500 ms of CPU, at most {most} reads")


def _show(each: Measured, *, with_sql: bool) -> None:
    print(
        f"{each.address:90} {each.cold_ms:7.0f} {each.warm_ms:7.0f} {each.cpu_ms:7.0f} {each.statements:4} "
        f"{each.reads:5} {each.kilobytes:5.0f} {each.slowest_ms:7.0f}"
    )
    if with_sql:
        print(f"    {each.slowest[:2000]}")


def _client() -> Client:
    """A client that is logged in as a superuser."""
    users = get_user_model().objects
    user = users.filter(username="bench").first() or users.create_superuser("bench", password="a long password")  # noqa: S106
    client = Client(headers={"Accept": "text/html", "Host": "127.0.0.1"})
    client.force_login(user)
    return client


if __name__ == "__main__":
    main()
