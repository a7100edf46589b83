"""The past of a repository: what its commits say, and which files they touch."""

from pathlib import Path

import pygit2
import pytest

from gateway.connectors.codebase.git.history import CommitNotFound, past
from gateway.connectors.codebase.git.past_commit import PastCommit
from gateway.connectors.codebase.git.repository import opened
from tests.gateway.connectors.codebase.repositories import commit, git, new, write


@pytest.fixture(scope="module")
def ids(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A root commit, a commit, one beside it, and their merge."""
    folder = new(tmp_path_factory.mktemp("history") / "work")
    write(folder, **{"a.py": "1\n", "src/ü.py": "1\n"})
    root = commit(folder, "feat: a\ntitle of two lines\n\nThe body.\n\nIts end.\n", time=1_000)
    git(folder, "checkout", "-qb", "side")
    write(folder, **{"side.py": "1\n"})
    side = commit(folder, "side", time=2_000)
    git(folder, "checkout", "-q", "main")
    (folder / "a.py").unlink()
    write(folder, **{"b.py": "1\n"})
    git(folder, "config", "i18n.commitEncoding", "latin1")
    main = commit(folder, "main", time=3_000)
    git(folder, "-c", "i18n.commitEncoding=utf-8", "merge", "-qm", "merge", "side", time=4_000)
    return folder, [git(folder, "rev-parse", "HEAD"), main, side, root]


def test_the_newest_commit_is_first(ids: tuple[Path, list[str]]):
    folder, (merge, main, side, root) = ids
    assert list(past(opened(folder))) == [
        PastCommit(merge, 4_000, "merge", "", (), True),
        PastCommit(main, 3_000, "main", "", ("a.py", "b.py"), False),
        PastCommit(side, 2_000, "side", "", ("side.py",), False),
        PastCommit(root, 1_000, "feat: a title of two lines", "The body.\n\nIts end.", ("a.py", "src/ü.py"), False),
    ]


def test_the_past_is_bounded(ids: tuple[Path, list[str]]):
    folder, expected = ids
    assert [each.id for each in past(opened(folder), limit=2)] == expected[:2]
    assert [each.paths for each in past(opened(folder), most_paths=1)][1] == ("a.py",)


def test_the_past_continues_after_a_commit(ids: tuple[Path, list[str]]):
    folder, expected = ids
    assert [each.id for each in past(opened(folder), limit=2, after=expected[0][:12])] == expected[1:3]
    with pytest.raises(CommitNotFound):
        list(past(opened(folder), after="0" * 40))


def test_an_empty_repository_has_no_past(tmp_path: Path):
    assert list(past(opened(new(tmp_path / "empty")))) == []


def test_the_past_of_a_shallow_clone_ends_with_it(ids: tuple[Path, list[str]], tmp_path: Path):
    folder, expected = ids
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{folder}", "shallow")
    assert [each.id for each in past(opened(tmp_path / "shallow"))] == expected[:3]


def test_a_damaged_repository_is_no_failure(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    root = git(folder, "rev-parse", "HEAD")
    commit(folder, "second")
    (folder / ".git/objects" / root[:2] / root[2:]).unlink()
    assert list(past(opened(folder))) == []


@pytest.mark.parametrize(("encoding", "expected"), [("latin1", "café"), ("nonsense", "caf\udce9")])
def test_messages_of_any_encoding_are_read(tmp_path: Path, encoding: str, expected: str):
    folder = new(tmp_path / "work")
    (tmp_path / "message").write_bytes(b"caf\xe9")
    encoded = ("-c", f"i18n.commitEncoding={encoding}")
    git(folder, *encoded, "commit", "-q", "--allow-empty", "-F", str(tmp_path / "message"))
    (only,) = past(opened(folder))
    assert only.subject == expected


def test_an_empty_line_of_a_message_may_hold_blanks(tmp_path: Path):
    """As git reads it: programs on Windows end lines with a carriage return."""
    folder = new(tmp_path / "work")
    (tmp_path / "message").write_bytes(b"Fix the\r\nindent\r\n\r\nThe note\r\nis whole.\r\n \t\nThe end.\r\n")
    git(folder, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", str(tmp_path / "message"))
    (only,) = past(opened(folder))
    assert (only.subject, only.body) == ("Fix the indent", "The note\r\nis whole.\r\n \t\nThe end.")
    assert only.subject == git(folder, "log", "--format=%s")


def test_what_is_read_once_is_not_kept_in_memory(ids: tuple[Path, list[str]]):
    assert len([*past(opened(ids[0]))]) == 4
    assert pygit2.settings.cached_memory[0] == 0


@pytest.mark.parametrize(
    ("author", "by_bot"),
    [
        ("renovate[bot] <29139614+renovate[bot]@users.noreply.github.com>", True),
        ("Releases <release-bot@example.org>", True),
        ("A. Botha <botha@example.org>", False),
    ],
)
def test_the_commits_of_bots_are_known(tmp_path: Path, author: str, by_bot: bool):
    folder = new(tmp_path / "work")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one", "--author", author)
    (only,) = past(opened(folder))
    assert only.by_bot is by_bot
