"""The habits of a project's authors are read once for each of its commits."""

from pathlib import Path

import pytest

from gateway.connectors.codebase.messages import past_habits
from gateway.connectors.codebase.messages.past_habits import habits_of
from tests.gateway.connectors.codebase.repositories import commit, new, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    write(folder, **{"a.py": "2\n"})
    commit(folder, "fix(a): second")
    return folder


def test_habits_are_kept_until_the_next_commit(root: Path) -> None:
    first = habits_of(root, lambda: True)
    assert len(first) == 1
    assert habits_of(root, lambda: False) is first
    write(root, **{"a.py": "3\n"})
    commit(root, "fix(a): third")
    assert len(habits_of(root, lambda: True)) == 2


def test_habits_that_the_budget_cut_are_not_kept(root: Path) -> None:
    assert len(habits_of(root, lambda: False)) == 0
    assert len(habits_of(root, lambda: True)) == 1


def test_few_projects_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_habits, "_cached", {})
    folders = [new(tmp_path / str(number), **{"a.py": "1\n"}) for number in range(past_habits._PROJECTS + 2)]
    habits = [habits_of(folder, lambda: True) for folder in folders]
    assert len(past_habits._cached) == past_habits._PROJECTS
    assert habits_of(folders[-1], lambda: False) is habits[-1]
