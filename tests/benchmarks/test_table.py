"""The bench against real servers, in blocks too short for figures that anybody would quote."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.processes import ROOT
from benchmarks.table import bodies, gate, measure, upstream
from benchmarks.table.figures import BenchRun
from benchmarks.table.loads import Effort
from benchmarks.table.rows import BARE, SDK
from benchmarks.table.servers import PreparedSluice
from benchmarks.table.stage import Stage

TINY = replace(measure.QUICK, effort=Effort(blocks=2, calls=48, warm=48))
NEW = ("list-websocket", "list-http-2026")
NAMES = (*NEW, "equal-websocket")
# Each response of the upstream takes processor time, of which a busy machine takes nothing away.
BURNING = """
import time
from aiohttp.client_proto import ResponseHandler
received = ResponseHandler.data_received
def burn(*arguments):
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    received(*arguments)
ResponseHandler.data_received = burn
"""


class SlowedStage(Stage):
    """Its Sluice starts with `sitecustomize`, a module that Python imports first."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def slow_down(self) -> None:
        (self._folder / "sitecustomize.py").write_text(BURNING)
        self._running.pop(("sluice", (), 2))

    def prepared(self, tools: int = 2) -> PreparedSluice:
        found = super().prepared(tools)
        return replace(found, settings={**found.settings, "PYTHONPATH": str(self._folder)})


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[SlowedStage]:
    with SlowedStage(tmp_path) as stage:
        yield stage


def measured(stage: Stage, names: Collection[str] = NAMES) -> BenchRun:
    return BenchRun("", "", measure.calls(stage, TINY, names))


def test_a_server_that_takes_more_processor_time_does_not_pass_the_gate(stage: SlowedStage):
    before = measured(stage)
    assert list(before.figures) == list(NAMES)
    for figure in before.figures.values():
        assert len(figure.values) == len(figure.beside[SDK]) == len(figure.beside[BARE]) == TINY.effort.blocks
        assert min(figure.values) > 0
    new, equal = before.figures["list-websocket"], before.figures["equal-websocket"]
    assert new.best > 2 * equal.best, "an equal call is answered from the cache, a new one is not"
    stage.slow_down()
    slower = {each.row for each in gate.compare(before, measured(stage, NEW)) if each.is_regression}
    assert slower.issuperset(NEW)


def test_bodies_of_files_are_measured_over_each_transport(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bodies, "BLOCKS", 1)
    monkeypatch.setattr(bodies, "MOST_CALLS", 16)
    files = [tmp_path / "towns.json", tmp_path / "rates.json"]
    files[0].write_text(json.dumps([{"id": n, "name": f"Town {n}"} for n in range(30)]))
    files[1].write_text(json.dumps({"base": "EUR", "rates": {"USD": 1.1, "GBP": 0.8}}))
    with Stage(files=files) as stage:
        head, _, towns, rates = bodies.markdown(stage, files)
    names = [os.path.relpath(each) for each in files]
    assert head == "| Body | KB | FastMCP | WebSocket | HTTP 2025 | HTTP 2026 |"
    assert re.fullmatch(rf"\| {names[0]} \| 1 \| – (\| [\d.]+ ms ){{3}}\|", towns)
    assert re.fullmatch(rf"\| {names[1]} \| 0 \| – (\| [\d.]+ ms ){{3}}\|", rates)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting property name"),
        ("[1, 2]", "it has no text, so all answers would be equal"),
        ('"a"', "it is no JSON array or object"),
        ('["a", NaN]', "Out of range float values are not JSON compliant"),
        ("[" * 5000, "maximum recursion depth exceeded"),
    ],
)
def test_a_file_that_is_no_body_is_refused_in_words(tmp_path: Path, text: str, why: str):
    file = tmp_path / "body.json"
    file.write_text(text)
    command = [sys.executable, "-m", "benchmarks", "--bodies", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert f"argument --bodies: {file}: {why}" in done.stderr


def test_each_answer_differs_in_the_first_text_of_each_row(tmp_path: Path):
    file = tmp_path / "body.json"
    file.write_text(json.dumps([{"id": 1, "names": {"en": "One", "de": "Eins"}}, {"id": 2}, ["a", "b"]]))
    response = upstream.numbered([str(file)])
    bodies = [json.loads(response("/bodies/0?call=1").partition(b"\r\n\r\n")[2]) for _ in range(2)]
    assert bodies[0] == [{"id": 1, "names": {"en": "One 00000001", "de": "Eins"}}, {"id": 2}, ["a 00000001", "b"]]
    assert bodies[1][0]["names"]["en"] == "One 00000002"


def test_the_command_compares_with_the_committed_figures(tmp_path: Path):
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--gate", "--rows", "rest", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    compared = done.stdout.partition("Compared with the figures")[2]
    assert "REST list by `where`, processor time" in compared, done.stdout + done.stderr
    assert done.returncode == ("SLOWER" in compared), "which of both is for quiet machines to say"
    assert list(json.loads(file.read_bytes())["figures"]) == ["rest-where", "rest-where-cpu"]
