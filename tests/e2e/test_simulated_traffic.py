"""Simulated traffic is real: what the dashboards then show was measured on calls that a server answered."""

import shutil
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from gateway.simulation import history
from gateway.simulation.traffic import MARK
from telemetry.measurement import FIGURES
from tests import tables
from tests.e2e import forks
from tests.e2e.serving import Serving, serving

COLUMNS = [figure.column for figure in FIGURES.values()]
MOVED = {"request_id", "created_at", "chain", "trace_id"}  # names and times; a copied chain has a name of its own


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice")) as running:
        yield running


@pytest.fixture(scope="module")
def simulated(sluice: Serving) -> str:
    done = sluice.manage(
        "simulate_traffic", "--url", sluice.base, "--calls", "60", "--seconds", "8", "--seed", "3", "--history", "2d"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(sluice: Serving, where: str) -> list[dict[str, Any]]:
    with sqlite3.connect(Path(sluice.environment["DATA_DIR"]) / "sluice.sqlite3") as database:
        found = database.execute(
            f"SELECT {', '.join(COLUMNS)} FROM telemetry_telemetryrecord WHERE {where}"  # noqa: S608
        ).fetchall()
    return [dict(zip(COLUMNS, row, strict=True)) for row in found]


MEASURED, COPIED = f"request_id NOT LIKE '{history.REPLAYED}%'", f"request_id LIKE '{history.REPLAYED}%'"


def test_the_calls_come_through_every_transport_and_are_marked_by_their_callers(sluice: Serving, simulated: str):
    calls = rows(sluice, MEASURED)
    assert f"{len(calls)} calls to {sluice.base}" in simulated
    assert len(calls) <= 60
    assert {call["door"] for call in calls} == {"rest", "websocket", "http"}
    assert all(call["caller"].startswith(MARK) for call in calls)
    assert {"paginated", "summarized", "error"} <= {call["outcome"] for call in calls}


def test_the_past_has_no_figure_that_was_not_measured(sluice: Serving, simulated: str):
    def figures(call: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(value for column, value in call.items() if column not in MOVED)

    copies = rows(sluice, COPIED)
    assert {figures(call) for call in copies} <= {figures(call) for call in rows(sluice, MEASURED)}
    days = {call["created_at"][:10] for call in copies}
    assert len(copies) > 100
    assert len(days) >= 2
    assert max(call["created_at"] for call in copies) < min(call["created_at"] for call in rows(sluice, MEASURED))


def test_its_keys_are_refused_afterwards(sluice: Serving, simulated: str):
    listed = sluice.manage("apikey", "list").stdout
    states = [line.split("\t")[2].split()[0] for line in listed.splitlines() if line.startswith(MARK)]
    assert states == ["revoked"] * 5


def test_an_upstream_that_is_down_is_really_called(tmp_path: Path):
    shutil.copy(tables.made(), tmp_path / "sluice.sqlite3")  # new, but for its tables: all migrations take 3 s
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"PATH": "", "DATA_DIR": str(tmp_path), "PORT": str(port), "PYTHONUNBUFFERED": "1"}
    done = forks.run(("simulate_traffic", "--state", "down", "--hold", "0"), environment, timeout=240)
    assert "in the state down" in done.stdout, done.stderr
    with sqlite3.connect(tmp_path / "sluice.sqlite3") as database:
        reasons = database.execute(
            "SELECT error_reason, count(*) FROM telemetry_telemetryrecord WHERE operation LIKE 'nsip_%' GROUP BY 1"
        ).fetchall()
    assert dict(reasons).keys() == {"upstream_unreachable", "upstream_unavailable"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--url", "https://sluice.example.com"), "on this machine"),
        (("--url", "http://10.0.0.7:8000"), "on this machine"),
        (("--calls", "0"), "expected 1 to"),
        (("--seconds", "-1"), "expected more than 0"),
        (("--history", "soon"), "such as 12h or 7d"),
        (("--history", "900d"), "at most 30d"),
    ],
)
def test_an_argument_that_it_cannot_obey_is_refused_before_any_call(arguments: tuple[str, str], said: str):
    with pytest.raises(CommandError, match=said):
        call_command("simulate_traffic", *arguments)


def test_it_says_that_no_server_answers(db: None):
    with pytest.raises(CommandError, match="Nothing answers at"):
        call_command("simulate_traffic", "--url", "http://127.0.0.1:9")
