"""Reads hostile bodies through a Sluice that runs with its default settings, as clients would: no answer may exceed the
hard cap, nothing may crash, and no connection may be lost.

    python -m tests.hostile --answers 100000 --seed 1
    python -m tests.hostile --seed 1 --walk 4711        one walk again, with its answers
"""

import argparse
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import free_port, started
from tests.e2e.serving import Serving, serving
from tests.hostile import upstream
from tests.hostile.run import HostileClient, HostileRun, Tally

PROGRESS_SECONDS = 30
MOST_REPORTS = 40


@contextmanager
def running(directory: Path) -> Iterator[Serving]:
    """A Sluice that has imported the hostile upstream twice: under `/faulty`, most of its answers are faulty."""
    port = free_port()
    log = directory / "server.log"
    with (
        started(["-m", "tests.hostile.upstream", str(port)]) as program,
        log.open("wb") as writing,
        serving(directory / "data", log=writing.fileno(), ALLOW_PRIVATE_UPSTREAMS="127.0.0.0/8") as sluice,
    ):
        program.until_printed("ready")
        for name, path in (("hostile", ""), (upstream.FAULTY, f"/{upstream.FAULTY}")):
            document = directory / f"{name}.json"
            document.write_text(json.dumps(upstream.document(f"http://127.0.0.1:{port}{path}")))
            done = sluice.manage("import_openapi", str(document), "--name", name, "--all")
            assert done.returncode == 0, done.stderr
        yield sluice
        program.process.poll()
        assert program.process.returncode is None, program.complaints()


def hostile_run(seed: int, answers: int, seconds: float, clients: int, walk: int | None = None) -> Tally:
    with tempfile.TemporaryDirectory(prefix="sluice-hostile-") as directory, running(Path(directory)) as sluice:
        run = HostileRun(sluice, seed, answers, seconds, is_shown=walk is not None)
        if walk is not None:
            with HostileClient(sluice) as client:
                run.walk(client, walk)
        else:
            finished = threading.Event()
            reporter = threading.Thread(target=_reports, args=(run.tally, finished))
            reporter.start()
            run.all_walks(clients)
            finished.set()
            reporter.join()
        run.tally.add_log((Path(directory) / "server.log").read_text(errors="replace"))
    return run.tally


def _reports(tally: Tally, finished: threading.Event) -> None:
    """Faults as soon as they are found, and how far the run is."""
    shown = 0
    while not finished.wait(PROGRESS_SECONDS):
        for report in tally.reports[shown:MOST_REPORTS]:
            print(report, flush=True)
        shown = len(tally.reports)
        print(f"{tally.seconds:,.0f} s: {tally.answers:,} answers, {len(tally.reports)} faults", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4, help="that call at the same time")
    parser.add_argument("--seconds", type=float, default=86_400, help="after which it stops")
    parser.add_argument("--walk", type=int, help="only the walk of this number")
    options = parser.parse_args()
    tally = hostile_run(options.seed, options.answers, options.seconds, options.clients, options.walk)
    for report in tally.reports[:MOST_REPORTS]:
        print(report)
    print(tally.summary())
    return 1 if tally.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
