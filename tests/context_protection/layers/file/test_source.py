"""Whatever happens to the configuration file, the last good one stays in force, and the reason is said (FR-026, FR-028,
R3)."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import LazySettings

from context_protection.core.scopes import EVERYTHING, BudgetScope
from context_protection.core.setting import Layer
from context_protection.layers.budgets import Budgets
from context_protection.layers.file import watcher
from context_protection.layers.file.documents import FileProblem
from context_protection.layers.file.layer import FileLayer
from context_protection.layers.file.source import ConfigurationFile, FileOutcome
from context_protection.layers.file.watcher import FileWatcher
from tests.context_protection.layers.file.test_layer import INVALID

GOOD = "global: {hardCap: 9000}\noperations:\n  list_bookings: {defaultPageSize: 20}\n"
AT = BudgetScope("list_bookings")


def alone(layer: FileLayer) -> list[FileProblem]:
    return Budgets({}, layer).problems_of_file()


@pytest.fixture
def path(tmp_path: Path, settings: LazySettings) -> Path:
    path = tmp_path / "sluice.yaml"
    settings.CONFIG_FILE = str(path)
    return path


@pytest.fixture
def file(path: Path) -> ConfigurationFile:
    """A valid file that is in force."""
    path.write_text(GOOD)
    file = ConfigurationFile()
    assert file.latest(alone).values[EVERYTHING] == {"hard_cap": 9000}
    return file


def is_as_before(file: ConfigurationFile) -> bool:
    budgets = Budgets({}, file.latest(alone))
    return (budgets.policy("list_bookings").hard_cap, budgets.policy("list_bookings").default_page_size) == (9000, 20)


@pytest.mark.parametrize("text", INVALID, ids=[text[:40] for text in INVALID])
def test_an_invalid_file_leaves_the_last_good_one_in_force(file: ConfigurationFile, path: Path, text: str):
    path.write_text(text)
    assert is_as_before(file)
    assert INVALID[text] in str(file.status.problems[0])
    path.write_text(GOOD.replace("9000", "8000"))
    assert file.latest(alone).values[EVERYTHING] == {"hard_cap": 8000}
    assert file.status.problems == ()


def replaced_by_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cap below threshold": (
        lambda path: path.write_text("global:\n  hardCap: 3000\n"),
        "line 2: hardCap (3,000) is below tokenBudgetThreshold (4,000)",
    ),
    "default page above the largest": (
        lambda path: path.write_text("operations:\n  list_bookings: {defaultPageSize: 300}\n"),
        "line 2: defaultPageSize (300) is above maxPageSize (200)",
    ),
    "for one caller": (
        lambda path: path.write_text("callers:\n  desk:\n    global: {hardCap: 1000}\n"),
        "line 3: hardCap (1,000) is below tokenBudgetThreshold (4,000)",
    ),
    "10 MB": (lambda path: path.write_bytes(b"# padding\n" * 1_048_576), "The file has more than 1,024 KB."),
    "binary": (lambda path: path.write_bytes(os.urandom(2000)), ""),
    "removed": (Path.unlink, "cannot be read (No such file or directory). Restore the file,"),
    "a folder": (replaced_by_a_folder, "is not a file. Restore the file,"),
    "a pipe": (replaced_by_a_pipe, "is not a file."),
    "emptied": (lambda path: path.write_bytes(b""), "The file is empty: it may be half-written."),
    "half-written": (lambda path: path.write_text(GOOD[:-20]), "the file may be half-written."),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_leaves_the_last_good_one_in_force(file: ConfigurationFile, path: Path, damage: str):
    harm, words = DAMAGES[damage]
    harm(path)
    assert is_as_before(file)
    assert words in str(file.status.problems[0])
    assert file.status.stays == "The last valid version stays in force."


def test_fifty_bad_files_were_tried():
    assert len(INVALID) + len(DAMAGES) >= 50


def test_a_file_that_is_removed_while_it_is_read_is_not_used(
    file: ConfigurationFile, path: Path, monkeypatch: pytest.MonkeyPatch
):
    path.write_text("global: {hardCap: 8000}\n")
    fstat = os.fstat

    def removed_meanwhile(handle: int) -> os.stat_result:
        path.unlink(missing_ok=True)
        return fstat(handle)

    monkeypatch.setattr(os, "fstat", removed_meanwhile)
    assert is_as_before(file)
    assert "was changed or removed while it was read" in str(file.status.problems[0])


def test_a_file_that_is_finished_while_its_first_half_is_parsed_is_read_again(
    tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "sluice.json"
    settings.CONFIG_FILE = str(path)
    path.write_text('{"global": {"hardCap"')
    loads = json.loads

    def finished_meanwhile(text: str) -> Any:
        monkeypatch.setattr(json, "loads", loads)
        path.write_text('{"global": {"hardCap": 9000}}')
        return loads(text)

    monkeypatch.setattr(json, "loads", finished_meanwhile)
    file = ConfigurationFile()
    assert file.latest(alone).values == {}
    assert "This is not JSON" in str(file.status.problems[0])
    assert file.has_changed
    assert file.latest(alone).values == {EVERYTHING: {"hard_cap": 9000}}
    assert (file.status.problems, file.has_changed) == ((), False)


@pytest.mark.parametrize("text", [None, "global: {hardCap: x}\n"])
def test_a_start_without_a_valid_file_uses_the_defaults_and_says_so(
    path: Path, caplog: pytest.LogCaptureFixture, text: str | None
):
    if text is not None:
        path.write_text(text)
    file = ConfigurationFile()
    assert Budgets({}, file.latest(alone)).policy("list_bookings") == Budgets({}).policy("list_bookings")
    assert file.status.stays == "The defaults are in force."
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.message == "configuration file rejected"
    assert record.problems == [str(each) for each in file.status.problems] != []


def test_a_file_that_contradicts_the_admin_waits_for_the_admin(path: Path):
    path.write_text("global: {hardCap: 5000}\n")
    admin = {AT: {"token_budget_threshold": 6000}}
    file = ConfigurationFile()
    assert file.latest(lambda layer: Budgets(admin, layer).problems_of_file()).values == {}
    (problem,) = file.status.problems
    assert problem.line == 1
    assert "hardCap: file, line 1" in problem.sentence
    assert "tokenBudgetThreshold: admin, list_bookings" in problem.sentence
    admin.clear()
    assert file.latest(lambda layer: Budgets(admin, layer).problems_of_file()).values[EVERYTHING] == {"hard_cap": 5000}


def test_contradictions_that_the_file_has_no_part_in_do_not_refuse_it(path: Path):
    path.write_text("global: {chunkSize: 100}\n")
    wrong = {AT: {"default_page_size": 900}}
    file = ConfigurationFile()
    assert file.latest(lambda layer: Budgets(wrong, layer).problems_of_file()).values == {
        EVERYTHING: {"chunk_size": 100}
    }


def test_a_file_is_below_the_environment_and_above_the_operations_own_settings(
    file: ConfigurationFile, settings: LazySettings
):
    path = Path(settings.CONFIG_FILE)
    path.write_text("global: {tokenBudgetThreshold: 3500, chunkSize: 90, cacheSeconds: 5}\n")
    settings.CONTEXT_PROTECTION = {"chunk_size": 80}
    budgets = Budgets({EVERYTHING: {"cache_seconds": 7}}, file.latest(alone))
    policy = budgets.policy("get_booking")
    assert (policy.token_budget_threshold, policy.chunk_size, policy.cache_seconds) == (3500, 80, 7)
    names = ("token_budget_threshold", "chunk_size", "cache_seconds")
    sources = [budgets.source(BudgetScope("get_booking"), name) for name in names]
    assert [each.layer for each in sources] == [Layer.FILE, Layer.ENVIRONMENT, Layer.ADMIN]
    assert sources[0].words(EVERYTHING) == "file, line 1"


def test_old_and_new_values_are_logged(file: ConfigurationFile, path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    path.write_text("global: {hardCap: 8000}\noperations: {get_booking: {chunking: off}}\n")
    file.latest(alone)
    (record,) = [each for each in caplog.records if each.message == "configuration changed"]
    assert record.fields == {
        "all operations: hardCap": "9,000 → 8,000",
        "get_booking: chunking": "- → off",
        "list_bookings: defaultPageSize": "20 → -",
    }


# -- The watcher ------------------------------------------------------------------------------------


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[FileOutcome]:
    found: list[FileOutcome] = []
    monkeypatch.setattr(watcher, "_listeners", [found.append])
    return found


@pytest.mark.django_db
def test_the_watcher_obeys_and_reports_each_change_once(
    file: ConfigurationFile, path: Path, reported: list[FileOutcome]
):
    looking = FileWatcher(file, lambda: file.latest(alone))
    looking.look()
    path.write_text("global: {hardCap: 8000}\n")
    looking.look()
    looking.look()
    path.write_text("global: {hardCap: 1}\n")
    looking.look()
    path.unlink()
    looking.look()
    looking.look()
    assert [len(each.changes) for each in reported] == [2, 2, 0, 0]
    assert [len(each.status.problems) for each in reported] == [0, 0, 1, 1]
    assert file.layer.values == {EVERYTHING: {"hard_cap": 8000}}


@pytest.mark.django_db
def test_the_watcher_waits_until_the_file_is_written(
    file: ConfigurationFile, path: Path, reported: list[FileOutcome], monkeypatch: pytest.MonkeyPatch
):
    first, rest = "global: {hardCap: 8000}\n", "operations: {list_bookings: {defaultPageSize: 30}}\n"
    waits: Iterator[Callable[[], Any]] = iter([lambda: path.write_text(first + rest), lambda: None])
    monkeypatch.setattr(watcher, "time", SimpleNamespace(sleep=lambda seconds: next(waits)()))
    looking = FileWatcher(file, lambda: file.latest(alone))
    looking.look()
    reported.clear()
    path.write_text(first)
    looking.look()
    assert reported == []
    assert file.layer.values[EVERYTHING] == {"hard_cap": 9000}
    looking.look()
    assert [len(each.changes) for each in reported] == [2]
    assert file.layer.values == {EVERYTHING: {"hard_cap": 8000}, AT: {"default_page_size": 30}}


@pytest.mark.django_db
def test_a_listener_that_fails_ends_nothing(
    file: ConfigurationFile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def fail(outcome: FileOutcome) -> None:
        raise RuntimeError("no history today")

    found: list[FileOutcome] = []
    monkeypatch.setattr(watcher, "_listeners", [fail, found.append])
    FileWatcher(file, lambda: None).look()
    assert len(found) == 1
    assert "no history today" in caplog.text
