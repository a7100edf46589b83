"""A configuration file that changes while two web processes are called (FR-026, law 6)."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e import reloading
from tests.e2e.clusters import seconds_until
from tests.e2e.serving import Serving, serving, web
from tests.patience import PATIENCE

RELOADS = 30  # `python -m benchmarks.reloads` makes a thousand


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("configuration") / "sluice.yaml"
    reloading.write(path, reloading.SIZES[-1])
    return path


@pytest.fixture(scope="module")
def sluice(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("data"), CONFIG_FILE=str(file)) as sluice:
        yield sluice


@pytest.fixture(scope="module")
def bases(sluice: Serving) -> Iterator[list[str]]:
    with web(sluice.environment) as other:
        yield [sluice.base, other]


def test_no_call_fails_or_sees_two_versions_while_the_file_changes(sluice: Serving, bases: list[str], file: Path):
    pid = sluice.pid
    load, seconds = reloading.reload(file, bases, sluice.key, RELOADS)
    assert load.failures == []
    assert load.calls > RELOADS
    assert min(seconds) < 0.5  # usually 0.05; with a look now and then, each would take as long as the first
    os.kill(pid, 0)  # the same process


def configuration(base: str, key: str) -> dict[str, object]:
    health = httpx2.get(f"{base}/health", headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE).json()
    found: dict[str, object] = health["configuration"]
    return found


def test_an_invalid_file_changes_nothing_and_each_process_explains_it(sluice: Serving, bases: list[str], file: Path):
    load, _ = reloading.reload(file, bases, sluice.key, 1)
    assert load.failures == []
    file.write_text("global:\n  defaultPageSize: 12\n  hardCaps: 9000\n")
    for base in bases:
        seconds_until(lambda base=base: bool(configuration(base, sluice.key)["problems"]), PATIENCE)
        found = configuration(base, sluice.key)
        assert found["problems"] == ["line 3: global.hardCaps: there is no setting 'hardCaps'. Did you mean hardCap?"]
        assert found["file"] == "sluice.yaml"
        answer = httpx2.get(
            base + reloading.ADDRESS, headers={"Authorization": f"Bearer {sluice.key}"}, timeout=PATIENCE
        )
        assert reloading.version_of(answer) == reloading.SIZES[0]
