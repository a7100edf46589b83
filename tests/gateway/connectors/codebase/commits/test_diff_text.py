"""Diffs as git and diff write them, read back against what was really changed."""

import subprocess
from pathlib import Path

import pytest

from gateway.connectors.codebase.commits.diff_names import DiffRefused
from gateway.connectors.codebase.commits.diff_text import MAX_BYTES, read_diff
from gateway.connectors.codebase.git.changes import ChangeKind, FileChange


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode(errors="surrogateescape")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last commit changes a file of every sort."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "-q", "-b", "main")
    numbers = "".join(f"line {number}\n" for number in range(30))
    for name in ("kept.py", "moved.py", "b/inner.txt", "with blank.txt", 'tab\tand"quote.txt', "grün.txt", "script.sh"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(numbers)
    (folder / "headers.sql").write_text("-- a/old\n++ b/new\n@@ -1 +1 @@\nselect 1;\n")
    (folder / "windows.txt").write_bytes(b"one\r\ntwo\r\n")
    (folder / "image.bin").write_bytes(b"\0\1\2")
    (folder / "gone.py").write_text("def gone(): ...\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    for name in ("kept.py", "b/inner.txt", "with blank.txt", 'tab\tand"quote.txt', "grün.txt"):
        (folder / name).write_text(numbers.replace("line 15\n", "changed\n"))
    git(folder, "mv", "moved.py", "b/renamed.py")
    (folder / "b/renamed.py").write_text(numbers.replace("line 3\n", "line three\n"))
    (folder / "headers.sql").write_text("++ b/new\n-- a/new\n@@ -1 +1 @@\nselect 2;\n")
    (folder / "windows.txt").write_bytes(b"one\r\nthree\r\n")
    (folder / "image.bin").write_bytes(b"\0\3\2")
    (folder / "gone.py").unlink()
    (folder / "empty.py").touch()
    (folder / "new.py").write_text("def new(): ...")
    (folder / "script.sh").chmod(0o755)
    git(folder, "add", "-A")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    git(folder, "commit", "-qm", "second")
    return folder


EXPECTED = {
    "kept.py": ("Modified", 1, 1),
    "b/renamed.py": ("Renamed", 1, 1),
    "b/inner.txt": ("Modified", 1, 1),
    "with blank.txt": ("Modified", 1, 1),
    'tab\tand"quote.txt': ("Modified", 1, 1),
    "grün.txt": ("Modified", 1, 1),
    "headers.sql": ("Modified", 2, 2),
    "windows.txt": ("Modified", 1, 1),
    "image.bin": ("Modified", 0, 0),
    "gone.py": ("Deleted", 0, 1),
    "empty.py": ("Added", 0, 0),
    "new.py": ("Added", 1, 0),
    "script.sh": ("Modified", 0, 0),
    "vendored": ("Added", 0, 0),
}


def counted(file: FileChange) -> tuple[str, int, int]:
    marks = [line.mark for hunk in file.hunks for line in hunk.lines]
    return file.kind.value, marks.count("+"), marks.count("-")


FORMS = {
    "git show": ("show",),
    "no prefix": ("diff", "--no-prefix", "HEAD~", "HEAD"),
    "mnemonic": ("-c", "diff.mnemonicPrefix=true", "diff", "HEAD~", "HEAD"),
    "named prefixes": ("diff", "--src-prefix=old/", "--dst-prefix=new/", "HEAD~", "HEAD"),
    "no context": ("diff", "-U0", "HEAD~", "HEAD"),
    "format-patch": ("format-patch", "--stdout", "--binary", "-1"),
    "unquoted names": ("-c", "core.quotePath=false", "show"),
    "many lines of context": ("show", "-U99"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_the_same(repository: Path, form: str) -> None:
    changes = read_diff(git(repository, *FORMS[form]))
    assert {file.path: counted(file) for file in changes.files} == EXPECTED
    assert not changes.truncated
    by_path = {file.path: file for file in changes.files}
    assert by_path["b/renamed.py"].old_path == "moved.py"
    assert by_path["image.bin"].binary
    assert by_path["vendored"].submodule
    assert (by_path["script.sh"].old_mode, by_path["script.sh"].new_mode) == (0o100644, 0o100755)


def test_line_ends_of_windows_change_nothing(repository: Path) -> None:
    text = git(repository, "show").replace("\r\n", "\n").replace("\n", "\r\n")
    assert {file.path: counted(file) for file in read_diff(text).files} == EXPECTED


def test_reversed_and_staged(repository: Path) -> None:
    kinds = {file.path: file.kind for file in read_diff(git(repository, "diff", "-R", "HEAD~", "HEAD")).files}
    assert kinds["gone.py"] is ChangeKind.ADDED
    assert kinds["new.py"] is ChangeKind.DELETED
    assert kinds["moved.py"] is ChangeKind.RENAMED


def test_a_plain_unified_diff(tmp_path: Path) -> None:
    for side, text in (("old", "one\ntwo\n"), ("new", "one\n2\n")):
        (tmp_path / side / "sub").mkdir(parents=True)
        (tmp_path / side / "sub" / "a.txt").write_text(text)
    (tmp_path / "new" / "b.txt").write_text("added\n")
    text = subprocess.run(["diff", "-ruN", "old", "new"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert {file.path: counted(file) for file in read_diff(text).files} == {
        "sub/a.txt": ("Modified", 1, 1),
        "b.txt": ("Added", 1, 0),
    }


def test_a_cut_diff_says_so_wherever_it_is_cut(repository: Path) -> None:
    """In the middle of a hunk nothing of a half line is kept."""
    whole = git(repository, "show", "--", "kept.py")
    begin = whole.index("@@")
    for length in range(begin + 1, len(whole) - 1):
        changes = read_diff(whole[:length])
        lines = [line.text for file in changes.files for hunk in file.hunks for line in hunk.lines]
        assert changes.truncated or length >= len(whole) - len("line 18\n"), length
        assert not changes.truncated or all(f"{line}\n" in whole for line in lines)


def test_a_merge_has_a_column_a_parent() -> None:
    text = "diff --cc a.py\nindex 1,2..3\n--- a/a.py\n+++ b/a.py\n@@@ -1,2 -1,2 +1,3 @@@\n  same\n +theirs\n+ ours\n"
    (file,) = read_diff(text).files
    assert counted(file) == ("Modified", 2, 0)


def test_a_series_tells_a_file_once(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for text in ("one\n", "one\ntwo\n"):
        (tmp_path / "a.txt").write_text(text)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "message")
    (file,) = read_diff(git(tmp_path, "format-patch", "--stdout", "--root")).files
    assert counted(file) == ("Added", 2, 0)


@pytest.mark.parametrize("text", ["", " \n", "Please write a message.", "--- a\nno plus line\n", "+1\n-1\n"])
def test_a_text_without_a_diff_names_its_parameter(text: str) -> None:
    with pytest.raises(DiffRefused, match=r"sinceDiff .*Expected"):
        read_diff(text)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "C:\\x", "a\\..\\..\\x", '"a\\000b"'])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(DiffRefused, match="sinceDiff names the"):
        read_diff(f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n")
    with pytest.raises(DiffRefused, match="sinceDiff names the"):
        read_diff(f"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to {path}\n")


def test_a_diff_over_the_limit_is_refused() -> None:
    with pytest.raises(DiffRefused, match="1,000,000"):
        read_diff("x" * (MAX_BYTES + 1))


def test_a_hunk_with_an_absurd_line_number_is_no_hunk() -> None:
    change = read_diff(f"--- a/x\n+++ b/x\n@@ -1,{'9' * 5000} +1 @@\n-a\n+b\n")
    assert change.truncated
