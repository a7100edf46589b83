"""The changes of a repository: every kind of change, of a work tree and between commits."""

import os
import shutil
from pathlib import Path

import pytest

from gateway.connectors.codebase.commits.diff_text import read_diff
from gateway.connectors.codebase.git import patches
from gateway.connectors.codebase.git.changes import ChangeKind, ChangeSet, DiffLine, FileChange
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.git.worktree import CommitRefused, since, uncommitted
from tests.gateway.connectors.codebase.repositories import commit, git, new, write

NUMBERS = "".join(f"line {number}\n" for number in range(30))
ODD = 'tab\tnew\nline "quote" \\ ü.txt'
RAW = b"d\xff/caf\xe9.txt"  # a name that is no UTF-8


def by_path(changes: ChangeSet) -> dict[str, FileChange]:
    found = {each.path: each for each in changes.files}
    assert len(found) == len(changes.files)
    return found


def lines(change: FileChange) -> list[str]:
    return [f"{line.mark}{line.text}" for hunk in change.hunks for line in hunk.lines if line.mark != " "]


def changed(folder: Path) -> dict[str, FileChange]:
    return by_path(uncommitted(opened(folder)))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work tree with a change of every kind since its first commit: staged, not staged, and untracked."""
    folder = new(
        tmp_path_factory.mktemp("trees") / "tree",
        **dict.fromkeys(("kept.py", "script.sh", ODD), NUMBERS),
        **{name: NUMBERS.replace("line", name) for name in ("moved.py", "edited.py", "link.txt")},
        **{"gone.py": "gone = 1\n", "windows.txt": "one\r\ntwo\r\n", ".gitignore": "*.log\n", "same.py": "s = 1\n"},
        **{"mixed.py": "a\n", "no_end.txt": "one"},
    )
    (folder / "image.bin").write_bytes(b"\0\1\2")
    (folder / "latin.txt").write_bytes(b"caf\xe9\n")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    (folder / "vendored").mkdir()
    commit(folder, "second")
    write(
        folder, **{"kept.py": NUMBERS.replace("line 15\n", "changed\n"), "mixed.py": "a\nb\n", "no_end.txt": "one\ntwo"}
    )
    git(folder, "mv", "moved.py", "b_moved.py")
    (folder / "edited.py").rename(folder / "b_edited.py")
    write(
        folder,
        **{"b_edited.py": NUMBERS.replace("line", "edited.py").replace(" 3\n", " three\n"), ODD: NUMBERS + "more\n"},
    )
    git(folder, "add", "mixed.py")
    write(folder, **{"mixed.py": "a\nb\nc\n", "new/deep/er.py": "new = 1\n", "an.log": "ignored\n", "empty.py": ""})
    write(folder, **{"forced.log": "tracked although ignored\n", "windows.txt": "one\r\nthree\r\n"})
    git(folder, "add", "-f", "forced.log")
    (folder / "script.sh").chmod(0o755)
    (folder / "gone.py").unlink()
    (folder / "link.txt").unlink()
    (folder / "link.txt").symlink_to("/etc/passwd")
    (folder / "image.bin").write_bytes(b"\0\3\2")
    (folder / "latin.txt").write_bytes(b"th\xe9\n")
    raw = os.path.join(os.fsencode(folder), RAW)
    os.mkdir(os.path.dirname(raw))
    Path(os.fsdecode(raw)).write_text("x\n")
    (folder / "outside").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    git(folder, "update-index", "--cacheinfo", f"160000,{'2' * 40},vendored")
    new(folder / "nested", **{"inner.py": "i = 1\n"})
    return folder


@pytest.fixture(scope="module")
def seen(tree: Path) -> dict[str, FileChange]:
    return changed(tree)


def test_every_change_has_its_kind(seen: dict[str, FileChange]):
    raw = os.fsdecode(RAW)
    assert {path: each.kind.value for path, each in seen.items()} == {
        **dict.fromkeys(("kept.py", "mixed.py", "no_end.txt", "windows.txt", "script.sh"), "Modified"),
        **dict.fromkeys((ODD, "link.txt", "image.bin", "latin.txt", "vendored"), "Modified"),
        **dict.fromkeys(("new/deep/er.py", "empty.py", "forced.log", "outside", "nested", raw), "Added"),
        **dict.fromkeys(("b_moved.py", "b_edited.py"), "Renamed"),
        "gone.py": "Deleted",
    }


def test_staged_and_unstaged_lines_are_one_change(seen: dict[str, FileChange]):
    assert lines(seen["mixed.py"]) == ["+b", "+c"]


def test_a_hunk_has_its_place_and_context(seen: dict[str, FileChange]):
    (hunk,) = seen["kept.py"].hunks
    assert (hunk.old_start, hunk.new_start, len(hunk.lines)) == (13, 13, 8)
    assert hunk.lines[3:5] == (DiffLine("-", "line 15"), DiffLine("+", "changed"))
    (hunk,) = seen["gone.py"].hunks
    assert (hunk.old_start, hunk.new_start) == (1, 0)
    (hunk,) = seen["new/deep/er.py"].hunks
    assert (hunk.old_start, hunk.new_start) == (0, 1)


def test_a_renamed_file_has_its_former_path_and_its_edits(seen: dict[str, FileChange]):
    assert (seen["b_moved.py"].old_path, seen["b_moved.py"].hunks) == ("moved.py", ())
    assert (seen["b_edited.py"].old_path, lines(seen["b_edited.py"])) == (
        "edited.py",
        ["-edited.py 3", "+edited.py three"],
    )


def test_modes_tell_scripts_and_links(seen: dict[str, FileChange]):
    assert (seen["script.sh"].old_mode, seen["script.sh"].new_mode, seen["script.sh"].hunks) == (0o100644, 0o100755, ())
    assert (seen["link.txt"].old_mode, seen["link.txt"].new_mode) == (0o100644, 0o120000)
    assert (seen["empty.py"].old_mode, seen["empty.py"].new_mode, seen["empty.py"].hunks) == (None, 0o100644, ())


def test_a_link_is_its_target_and_never_followed(seen: dict[str, FileChange]):
    assert lines(seen["outside"]) == ["+/etc"]
    assert "root:" not in str(seen["link.txt"].hunks)


def test_binary_files_and_submodules_have_no_lines(seen: dict[str, FileChange]):
    assert (seen["image.bin"].binary, seen["image.bin"].hunks) == (True, ())
    assert (seen["vendored"].submodule, seen["vendored"].hunks) == (True, ())
    assert (seen["nested"].submodule, seen["nested"].new_mode) == (True, 0o160000)


def test_a_submodule_with_changes_of_its_own_has_not_changed(tmp_path: Path):
    folder, library = new(tmp_path / "work", **{"a.py": "1\n"}), new(tmp_path / "library", **{"lib.py": "1\n"})
    git(folder, "submodule", "add", "-q", str(library), "vendored")
    commit(folder, "second")
    write(folder, **{"vendored/lib.py": "2\n", "vendored/new.py": "n\n", "a.py": "2\n"})
    assert set(changed(folder)) == {"a.py"}
    commit(folder / "vendored", "further")
    assert set(changed(folder)) == {"a.py", "vendored"}


def test_contents_are_text_of_any_encoding(seen: dict[str, FileChange]):
    assert lines(seen["windows.txt"]) == ["-two", "+three"]
    assert lines(seen["latin.txt"]) == ["-caf\udce9", "+th\udce9"]
    assert lines(seen["no_end.txt"]) == ["-one", "+one", "+two"]
    assert lines(seen[ODD]) == ["+more"]


def test_nothing_is_written(tree: Path):
    def state() -> dict[str, float]:
        return {str(each): each.lstat().st_mtime_ns for each in (tree / ".git").rglob("*")}

    before = state()
    uncommitted(opened(tree))
    assert state() == before


# -- Since a commit, against what git says itself ------------------------------------------------------


@pytest.fixture(scope="module")
def committed(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, committed; a bare repository."""
    work = tmp_path_factory.mktemp("committed") / "work"
    git(tree.parent, "clone", "-q", "--no-local", str(tree), str(work))
    for name in git(tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        source = tree / name
        if source.is_symlink() or source.is_file():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).unlink(missing_ok=True)
            shutil.copy2(source, work / name, follow_symlinks=False)
    for name in ("gone.py", "edited.py", "moved.py"):
        (work / name).unlink()
    git(work, "add", "-fA", ".")
    git(work, "commit", "-qm", "all")
    bare = work.parent / "bare.git"
    git(work.parent, "clone", "-q", "--bare", str(work), str(bare))
    return bare


def plain(changes: ChangeSet) -> set[tuple[object, ...]]:
    return {
        (each.path, each.old_path, each.kind, each.binary, each.submodule, tuple(lines(each))) for each in changes.files
    }


def test_a_bare_repository_tells_its_last_commit_as_git_does(committed: Path):
    told = git(committed, "diff", "-M", "HEAD~1", "HEAD")
    ours = {each for each in plain(uncommitted(opened(committed))) if each[0] != "link.txt"}
    assert len(ours) > 12
    assert ours == {each for each in plain(read_diff(f"{told}\n")) if each[0] != "link.txt"}


def test_since_leads_from_a_commit_to_the_work_tree(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n", "b.py": "1\n"})
    first = git(folder, "rev-parse", "HEAD")
    write(folder, **{"a.py": "1\n2\n"})
    second = commit(folder, "second")
    git(folder, "tag", "-a", "-m", "a tag", "v1", first)
    write(folder, **{"a.py": "1\n2\n3\n", "c.py": "1\n"})
    repository = opened(folder)
    for name in (first, first[:7], "v1", "HEAD~1", "main^", f" {first} "):
        assert {path: lines(each) for path, each in by_path(since(repository, name)).items()} == {
            "a.py": ["+2", "+3"],
            "c.py": ["+1"],
        }
    assert lines(by_path(since(repository, second))["a.py"]) == ["+3"]
    git(folder, "stash", "-q", "-u")
    assert since(opened(folder), second) == ChangeSet(())


def blob_and_tree(folder: Path) -> list[str]:
    return [git(folder, "rev-parse", "HEAD:kept.py"), git(folder, "rev-parse", "HEAD^{tree}")]


def test_a_bad_commit_is_an_error_that_names_the_argument(tree: Path):
    repository = opened(tree)
    bad = [
        "",
        "  ",
        "0" * 40,
        "deadbeef",
        "no-such-branch",
        "--help",
        "a\0b",
        "a\nb",
        "HEAD~9",
        "HEAD..HEAD",
        "x" * 1000,
    ]
    bad += [
        ":/second",
        "HEAD^{/second}",
        "HEAD:kept.py",
        "../../etc/passwd",
        "@{-1}",
        "HEAD@{yesterday}~9",
        "^",
        "\udcff",
    ]
    for name in bad + blob_and_tree(tree):
        with pytest.raises(CommitRefused, match=r"^sinceCommit is .* Expected: the hash of a commit") as caught:
            since(repository, name)
        assert len(str(caught.value)) < 600


# -- Repositories of every shape -------------------------------------------------------------------------


def test_an_empty_repository_has_nothing_to_describe(tmp_path: Path):
    folder = new(tmp_path / "empty")
    with pytest.raises(CommitRefused, match="no commit and no file"):
        uncommitted(opened(folder))
    write(folder, **{"a.py": "1\n"})
    git(folder, "add", "a.py")
    write(folder, **{"b.py": "1\n"})
    assert {path: each.kind for path, each in changed(folder).items()} == dict.fromkeys(
        ["a.py", "b.py"], ChangeKind.ADDED
    )
    with pytest.raises(CommitRefused, match="sinceCommit"):
        since(opened(folder), "HEAD")


def test_a_root_commit_adds_all_its_files(tmp_path: Path):
    assert {path: each.kind for path, each in changed(new(tmp_path / "root", **{"a.py": "1\n"})).items()} == {
        "a.py": ChangeKind.ADDED
    }


@pytest.fixture
def branches(tmp_path: Path) -> Path:
    """Three branches that change a file each, on main, which has changed another one."""
    folder = new(tmp_path / "branches", **dict.fromkeys(("m.py", "x.py", "y.py", "z.py"), NUMBERS))
    for name in ("x", "y", "z"):
        git(folder, "checkout", "-qb", name, "main")
        write(folder, **{f"{name}.py": f"{NUMBERS}{name}\n"})
        commit(folder, name)
    git(folder, "checkout", "-q", "main")
    write(folder, **{"m.py": f"{NUMBERS}m\n"})
    commit(folder, "m")
    return folder


def test_a_clean_merge_is_told_against_its_first_parent(branches: Path):
    git(branches, "merge", "-qm", "merge", "x")
    assert {path: lines(each) for path, each in changed(branches).items()} == {"x.py": ["+x"]}
    git(branches, "merge", "-qm", "octopus", "y", "z")
    assert set(changed(branches)) == {"y.py", "z.py"}


def test_an_evil_merge_shows_what_it_added_itself(branches: Path):
    git(branches, "merge", "-q", "--no-commit", "x")
    write(branches, **{"evil.py": "e\n"})
    assert set(changed(branches)) == {"evil.py", "x.py"}
    commit(branches, "merge")
    assert set(changed(branches)) == {"evil.py", "x.py"}


def test_a_merge_with_conflicts_shows_the_files_as_they_are(branches: Path):
    write(branches, **{"x.py": f"{NUMBERS}other\n"})
    commit(branches, "other")
    with pytest.raises(Exception, match="merge"):
        git(branches, "merge", "-q", "x")
    assert changed(branches)["x.py"].kind is ChangeKind.MODIFIED


def test_a_worktree_and_alternates_are_read_where_their_objects_are(branches: Path, tmp_path: Path):
    git(branches, "worktree", "add", "-q", str(tmp_path / "second"), "x")
    write(tmp_path / "second", **{"x.py": "new\n"})
    assert set(changed(tmp_path / "second")) == {"x.py"}
    git(tmp_path, "clone", "-q", "--shared", str(branches), "shared")
    assert set(changed(tmp_path / "shared")) == {"m.py"}


def test_a_shallow_clone_has_what_it_has(branches: Path, tmp_path: Path):
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{branches}", "shallow")
    assert set(changed(tmp_path / "shallow")) == {"m.py", "x.py", "y.py", "z.py"}  # as git: it begins there
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{branches}", "deeper")
    assert set(changed(tmp_path / "deeper")) == {"m.py"}


def test_contents_that_a_clone_lacks_are_left_out_and_said(branches: Path):
    before = git(branches, "rev-parse", "HEAD~1:m.py")
    (branches / ".git/objects" / before[:2] / before[2:]).unlink()
    changes = uncommitted(opened(branches))
    assert by_path(changes)["m.py"].kind is ChangeKind.MODIFIED
    assert changes.truncated


def test_a_rename_whose_content_a_clone_lacks_is_a_deletion_and_an_addition(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": NUMBERS})
    before = git(folder, "rev-parse", "HEAD:a.py")
    (folder / "a.py").rename(folder / "b.py")
    write(folder, **{"b.py": f"{NUMBERS}more\n"})
    commit(folder, "second")
    (folder / ".git/objects" / before[:2] / before[2:]).unlink()
    changes = uncommitted(opened(folder))
    assert {path: each.kind for path, each in by_path(changes).items()} == {
        "a.py": ChangeKind.DELETED,
        "b.py": ChangeKind.ADDED,
    }
    assert changes.truncated


# -- Bounds ---------------------------------------------------------------------------------------------


def test_a_large_file_is_named_without_its_lines(tmp_path: Path):
    folder = new(tmp_path / "large", **{"a.py": "1\n", "small.py": "1\n"})
    (folder / "a.py").write_bytes(b"x = 1\n" * (50_000_000 // 6))
    write(folder, **{"small.py": "2\n"})
    for _ in ("in the work tree", "committed"):
        changes = uncommitted(opened(folder))
        assert changes.truncated
        assert {path: lines(each) for path, each in by_path(changes).items()} == {"a.py": [], "small.py": ["-1", "+2"]}
        commit(folder, "large")


def test_many_lines_are_cut_and_all_files_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patches, "MAX_BYTES", 20 * (patches.LINE_BYTES + 10))
    folder = new(tmp_path / "many", **{f"{number}.py": NUMBERS for number in range(5)})
    changes = uncommitted(opened(folder))
    assert len(changes.files) == 5
    assert changes.truncated
    assert [len(lines(each)) for each in changes.files][1:] == [0, 0, 0, 0]
    monkeypatch.setattr(patches, "MAX_FILES", 3)
    assert len(uncommitted(opened(folder)).files) == 3
