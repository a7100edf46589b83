"""The paths that differ between two trees are those that git names."""

from pathlib import Path

import pygit2
import pytest

from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.git.tree_paths import differing
from tests.gateway.connectors.codebase.repositories import commit, git, new, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits, between which each kind of change happens."""
    files = {"same/deep/a.py": "1\n", "same/b.py": "1\n", "gone/c.py": "1\n", "place": "1\n", "thing/d.py": "1\n"}
    found = new(tmp_path_factory.mktemp("trees") / "work", **files, **{"run.sh": "1\n", "old.py": "name\n"})
    for name in ("gone/c.py", "place", "thing/d.py"):
        (found / name).unlink()
    (found / "thing").rmdir()
    write(found, **{"place/e.py": "1\n", "thing": "1\n", "same/deep/new.py": "1\n", "same/b.py": "2\n"})
    (found / "old.py").rename(found / "ünew.py")
    (found / "run.sh").chmod(0o755)
    commit(found, "second")
    return found


def paths_between(folder: Path, old: str, new_: str) -> list[str]:
    repository = opened(folder)
    trees = (repository.revparse_single(each).peel(pygit2.Tree) for each in (old, new_))
    return sorted(path.decode() for path in differing(*trees))


def test_every_kind_of_change_is_found(folder: Path):
    named = git(folder, "diff", "--name-only", "--no-renames", "-z", "HEAD~1", "HEAD").split("\0")
    expected = sorted(filter(None, named))
    assert {"place", "place/e.py", "thing", "thing/d.py", "run.sh", "gone/c.py"} < set(expected)
    assert paths_between(folder, "HEAD~1", "HEAD") == expected
    assert paths_between(folder, "HEAD", "HEAD~1") == expected


def test_equal_trees_differ_in_nothing(folder: Path):
    assert paths_between(folder, "HEAD", "HEAD") == []


def test_folders_that_do_not_differ_are_not_opened(folder: Path, tmp_path: Path):
    git(tmp_path, "clone", "-q", "--no-hardlinks", str(folder), "copy")
    copy = tmp_path / "copy"
    write(copy, **{"thing": "2\n"})
    commit(copy, "third")
    same = git(copy, "rev-parse", "HEAD:same")
    (copy / ".git/objects" / same[:2] / same[2:]).unlink()
    assert paths_between(copy, "HEAD~1", "HEAD") == ["thing"]
