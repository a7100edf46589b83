"""make conformance: the official MCP conformance suites and the Inspector, against every door.

make conformance                                   # all of it
make conformance ARGS="stateful inspector"         # some of it
make conformance ARGS="--url http://127.0.0.1:8000/mcp --key slc_…"          # a server that runs
make conformance ARGS="--url ws://127.0.0.1:8000/mcp/ws --key slc_…"         # over WebSocket, through the bridge

Ends with 0 only when everything passes that is not excused in tests/conformance/expected.toml, and all that is, fails.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.conformance.judging import Verdict
from tests.conformance.servers import Fixtures, fixture_server, front
from tests.conformance.suites import (
    SUITES,
    WAYS,
    WITHOUT_FIXTURES,
    inspect_http,
    inspect_stdio,
    node,
    run_suite,
)
from tests.e2e.serving import Serving, serving

ENDPOINTS = {
    "stateful": "Streamable HTTP with sessions and kept events, and the fixtures",
    "stateless": "Streamable HTTP without sessions, and the fixtures",
    "websocket": "WebSocket behind the bridge, and the fixtures",
    "product": "the server as a newcomer starts it, without fixtures, over HTTP and WebSocket",
    "inspector": "the Inspector on both servers",
}
ERAS = ("legacy", "modern")
SHOWN_LINES = 40  # of what a suite or a server has said


@dataclass
class Report:
    """Runs one thing after the other, and says how each went."""

    output: Path
    rows: list[tuple[str, str, Verdict]] = field(default_factory=list)

    def add(self, endpoint: str, suite: str, run: Callable[[Path], Verdict]) -> None:
        print(f"{endpoint}, {suite} …", end=" ", flush=True)
        began, place = time.monotonic(), self.output / f"run-{len(self.rows) + 1}"
        verdict = run(place)
        self.rows.append((endpoint, suite, verdict))
        print(f"{'RED' if verdict.wrong else 'passed'} in {time.monotonic() - began:.0f} s", flush=True)
        for words in verdict.wrong:
            print(f"    {words}")
        if verdict.wrong:
            print(_last_words(place / "log.txt"))

    @property
    def red(self) -> bool:
        return not self.rows or any(verdict.wrong for _, _, verdict in self.rows)

    def table(self) -> str:
        head = f"{'endpoint':24} {'suite':42} {'scenarios':>9} {'passed':>7} {'excused':>8} {'failed':>7}"
        lines = [
            f"{endpoint:24} {suite:42} {each.scenarios:9} {each.passed:7} {each.excused:8} {len(each.wrong):7}"
            for endpoint, suite, each in self.rows
        ]
        return "\n".join([head, *lines])


def _last_words(log: Path) -> str:
    lines = log.read_text().splitlines()[-SHOWN_LINES:]
    return "\n".join([f"    the end of {log}:", *(f"    | {line}" for line in lines)])


def with_fixtures(report: Report, chosen: list[str], fixtures: Fixtures, stack: ExitStack) -> None:
    if "stateful" in chosen:
        for suite in SUITES:
            report.add("stateful", suite.name, partial(run_suite, suite, f"{fixtures.base}/mcp", "stateful"))
    if "stateless" in chosen:
        for suite in SUITES:
            report.add(
                "stateless", suite.name, partial(run_suite, suite, f"{fixtures.base}/stateless/mcp", "stateless")
            )
    if "websocket" in chosen:
        bridge = stack.enter_context(front(fixtures.websocket, fixtures.key, report.output / "bridge.log"))
        for suite in SUITES:
            report.add("websocket", suite.name, partial(run_suite, suite, f"{bridge}/mcp", "websocket"))
    if "inspector" in chosen:
        _inspect(report, "fixtures", fixtures.base, fixtures.key)


def without_fixtures(report: Report, chosen: list[str], product: Serving, stack: ExitStack) -> None:
    if "product" in chosen:
        running_server(report, f"{product.base}/mcp", product.key, "product", stack)
        running_server(report, product.websocket, product.key, "product", stack)
    if "inspector" in chosen:
        _inspect(report, "product", product.base, product.key)
        for era in ERAS:
            report.add("product", f"Inspector, stdio, {era}", partial(inspect_stdio, era, product))


def running_server(report: Report, url: str, key: str, like: str, stack: ExitStack) -> None:
    """The suites against a server that runs: whole, where it has the fixtures."""
    scheme, path = urlsplit(url).scheme, urlsplit(url).path
    base = stack.enter_context(front(url, key, report.output / f"front-{scheme}.log"))
    judged_as = "product-websocket" if like == "product" and scheme in {"ws", "wss"} else like
    for suite in SUITES:
        only = WITHOUT_FIXTURES[suite.protocol] if like == "product" else None
        report.add(f"{like}, {scheme}", suite.name, partial(run_suite, suite, base + path, judged_as, only=only))


def _inspect(report: Report, endpoint: str, base: str, key: str) -> None:
    for way in WAYS:
        report.add(endpoint, f"Inspector, {way}", partial(inspect_http, way, base, key))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "make conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = "; ".join(f"{name}: {words}" for name, words in ENDPOINTS.items())
    parser.add_argument("endpoints", nargs="*", metavar="ENDPOINT", help=f"what to run (default: all). {known}")
    parser.add_argument("--url", help="an endpoint that runs already, http or ws, instead of all of these")
    parser.add_argument(
        "--key", default=os.environ.get("SLUICE_API_KEY", ""), help="the key for --url (default: SLUICE_API_KEY)"
    )
    parser.add_argument(
        "--like",
        choices=["stateful", "stateless", "websocket", "product"],
        default="product",
        help="what the server at --url is to be judged as (default: product, which has no fixtures)",
    )
    parser.add_argument("--keep", action="store_true", help="keep the suites' output, which is else kept only when red")
    options = parser.parse_args()
    if unknown := set(options.endpoints) - ENDPOINTS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(ENDPOINTS)}")
    if options.url and options.endpoints:
        parser.error("choose endpoints, or a --url")
    if options.url and not options.key:
        parser.error("--url needs a --key. Make one with: manage.py apikey create NAME")
    return options


def main() -> int:
    options = arguments()
    node()  # says what is missing before anything is started
    report = Report(Path(tempfile.mkdtemp(prefix="sluice-conformance-")))
    chosen = options.endpoints or list(ENDPOINTS)
    began = time.monotonic()
    with ExitStack() as stack:
        if options.url:
            running_server(report, options.url, options.key, options.like, stack)
        else:
            if set(chosen) != {"product"}:
                with_fixtures(report, chosen, stack.enter_context(fixture_server(report.output)), stack)
            if set(chosen) & {"product", "inspector"}:
                data_dir = report.output / "product"
                data_dir.mkdir()
                without_fixtures(report, chosen, stack.enter_context(serving(data_dir)), stack)
    print(f"\n{report.table()}\n\n{'RED' if report.red else 'All passed'} in {time.monotonic() - began:.0f} s.")
    if report.red:
        for log in sorted(report.output.glob("*.log")):
            print(_last_words(log))
    if report.red or options.keep:
        print(f"What the suites and servers said is in {report.output}")
    else:
        shutil.rmtree(report.output)
    return int(report.red)


if __name__ == "__main__":
    sys.exit(main())
