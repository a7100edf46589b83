"""The odd cases of git and of diffs, each through the whole tool: the right files, and a message that can be sent."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.git.worktree import uncommitted
from tests.gateway.connectors.codebase.messages.conftest import Ask, message_of
from tests.gateway.connectors.codebase.repositories import commit, git, new, write

NUMBERS = "".join(f"line {number}\n" for number in range(30))
ODD = 'tab\tnew\nline "quote" \\ ü `tick`.txt'


def files(answer: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["path"]: (each["changeType"], each["summary"]) for each in answer["changedFiles"]}


def first(answer: dict[str, Any]) -> tuple[str, str, str]:
    (file,) = answer["changedFiles"]
    return file["path"], file["changeType"], file["summary"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new(tmp_path / "project", **dict.fromkeys(("m.py", "x.py", "y.py", "z.py"), NUMBERS))


# -- Repositories ---------------------------------------------------------------------------------------


def test_the_first_files_of_an_empty_repository(ask: Ask, tmp_path: Path) -> None:
    folder = new(tmp_path / "empty")
    write(folder, **{"staged.py": "a = 1\n", "untracked.py": "b = 1\n"})
    git(folder, "add", "staged.py")
    assert files(ask(folder)) == {
        "staged.py": ("Added", "new file (+1 -0)"),
        "untracked.py": ("Added", "new file (+1 -0)"),
    }


def test_a_root_commit(ask: Ask, root: Path) -> None:
    assert {kind for kind, _ in files(ask(root)).values()} == {"Added"}
    assert len(files(ask(root))) == 4


@pytest.fixture
def merged(root: Path) -> Path:
    for name in ("x", "y", "z"):
        git(root, "checkout", "-qb", name, "main")
        write(root, **{f"{name}.py": f"{NUMBERS}{name}\n"})
        commit(root, name)
    git(root, "checkout", "-q", "main")
    write(root, **{"m.py": f"{NUMBERS}m\n"})
    commit(root, "m")
    return root


def test_a_merge_and_an_octopus(ask: Ask, merged: Path) -> None:
    git(merged, "merge", "-qm", "merge", "x")
    assert set(files(ask(merged))) == {"x.py"}
    git(merged, "merge", "-qm", "octopus", "y", "z")
    assert set(files(ask(merged))) == {"y.py", "z.py"}


def test_an_evil_merge(ask: Ask, merged: Path) -> None:
    git(merged, "merge", "-q", "--no-commit", "x")
    write(merged, **{"evil.py": "def evil():\n    pass\n"})
    commit(merged, "merge")
    assert files(ask(merged))["evil.py"] == ("Added", "new file; add `evil` (+2 -0)")


def test_a_merge_with_conflicts(ask: Ask, merged: Path) -> None:
    write(merged, **{"x.py": f"{NUMBERS}other\n"})
    commit(merged, "other")
    with pytest.raises(subprocess.CalledProcessError):
        git(merged, "merge", "-q", "x")
    assert files(ask(merged))["x.py"][0] == "Modified"


def test_a_shallow_clone_and_a_worktree(ask: Ask, merged: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{merged}", "shallow")
    assert set(files(ask(tmp_path / "shallow"))) == {"m.py"}
    git(merged, "worktree", "add", "-q", str(tmp_path / "second"), "x")
    write(tmp_path / "second", **{"new.py": "n = 1\n"})
    assert set(files(ask(tmp_path / "second"))) == {"new.py"}


def test_a_commit_beyond_a_shallow_clone_is_refused_by_name(ask: Ask, merged: Path, tmp_path: Path) -> None:
    start = git(merged, "rev-list", "--max-parents=0", "HEAD")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{merged}", "shallow")
    with pytest.raises(Exception, match="sinceCommit is"):
        ask(tmp_path / "shallow", sinceCommit=start)


def test_a_hostile_configuration_runs_nothing(ask: Ask, root: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary.sh"
    canary.write_text(f"#!/bin/sh\ntouch {tmp_path}/fired\ncat\n")
    canary.chmod(0o755)
    with (root / ".git/config").open("a") as config:
        config.write(
            f'[core]\n\tfsmonitor = {canary}\n[diff]\n\texternal = {canary}\n[diff "x"]\n\ttextconv = {canary}\n'
        )
        config.write(f'[filter "x"]\n\tclean = {canary}\n\tsmudge = {canary}\n\tprocess = {canary}\n')
    write(root, **{".gitattributes": "*.py diff=x filter=x\n", "m.py": f"{NUMBERS}more\n"})
    assert set(files(ask(root))) == {".gitattributes", "m.py"}
    assert set(files(ask(root, sinceCommit="HEAD"))) == {".gitattributes", "m.py"}
    assert not (tmp_path / "fired").exists()


# -- Files ----------------------------------------------------------------------------------------------


def test_a_rename_with_edits(ask: Ask, root: Path) -> None:
    (root / "m.py").unlink()
    write(root, **{"inner/n.py": NUMBERS.replace("line 3\n", "line three\n")})
    git(root, "rm", "-q", "x.py", "y.py", "z.py")
    git(root, "commit", "-qam", "less")
    git(root, "reset", "-q", "--soft", "HEAD~1")
    git(root, "checkout", "-q", "HEAD", "--", "x.py", "y.py", "z.py")
    path, kind, summary = first(ask(root))
    assert (path, kind) == ("inner/n.py", "Renamed")
    assert summary.startswith("rename `m.py` to `inner/n.py`")
    assert summary.endswith("(+1 -1)")


def test_a_mode_change(ask: Ask, root: Path) -> None:
    (root / "m.py").chmod(0o755)
    assert first(ask(root)) == ("m.py", "Modified", "mode 644 becomes 755")


def test_a_binary_file(ask: Ask, root: Path) -> None:
    (root / "image.png").write_bytes(b"\0\1\2")
    assert first(ask(root)) == ("image.png", "Added", "new binary file")
    commit(root, "image")
    (root / "image.png").write_bytes(b"\0\3\2")
    assert first(ask(root)) == ("image.png", "Modified", "binary file updated")
    (root / "image.png").unlink()
    assert first(ask(root)) == ("image.png", "Deleted", "binary file deleted")


def test_a_submodule(ask: Ask, root: Path) -> None:
    for at, said in (("1" * 40, ("Added", "new submodule")), ("2" * 40, ("Modified", "submodule updated"))):
        git(root, "update-index", "--add", "--cacheinfo", f"160000,{at},vendored")
        (root / "vendored").mkdir(exist_ok=True)
        git(root, "commit", "-qm", "vendored")
        assert files(ask(root))["vendored"] == said


def test_a_link_is_its_target(ask: Ask, root: Path) -> None:
    (root / "link").symlink_to("/etc/passwd")
    found = ask(root, format="Detailed")
    assert first(found)[:2] == ("link", "Added")
    assert "root:" not in json.dumps(found)


def test_an_empty_file(ask: Ask, root: Path) -> None:
    write(root, **{"empty.py": ""})
    assert first(ask(root)) == ("empty.py", "Added", "new file")


def test_ends_of_lines_of_windows(ask: Ask, root: Path) -> None:
    write(root, **{"w.py": "def one():\r\n    pass\r\n"})
    commit(root, "w")
    write(root, **{"w.py": "def one():\r\n    pass\r\ndef two():\r\n    pass\r\n"})
    assert first(ask(root)) == ("w.py", "Modified", "add `two` (+2 -0)")
    write(root, **{"w.py": "def one():\n    pass\n"})
    assert first(ask(root)) == ("w.py", "Modified", "only white space and separators differ (+2 -2)")


def test_a_name_with_odd_characters_is_told_as_it_is(ask: Ask, root: Path) -> None:
    write(root, **{ODD: "x\n"})
    found = ask(root)
    assert first(found)[0] == ODD
    assert "\n" not in found["commitMessage"]["title"]


def test_names_and_contents_that_are_no_utf_8(ask: Ask, root: Path) -> None:
    raw = os.path.join(os.fsencode(root), b"d\xff", b"caf\xe9.py")
    os.mkdir(os.path.dirname(raw))
    Path(os.fsdecode(raw)).write_bytes(b"def caf\xe9_one():\n    pass\n# \xff\xfe\n")
    found = ask(root, format="Detailed")
    assert first(found)[:2] == ("d\ufffd/caf\ufffd.py", "Added")
    json.dumps(found).encode()
    message_of(found).encode()


# -- A large diff ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A change of about 50 MB in 500 files since the first commit."""
    folder = new(tmp_path_factory.mktemp("large") / "project")
    for number in range(500):
        text = "".join(f"value_{number}_{line} = compute({line}, 'of some length')\n" for line in range(1_000))
        write(folder, **{f"part{number % 20}/file{number}.py": text})
    commit(folder, "first")
    for path in folder.rglob("*.py"):
        path.write_text(path.read_text().replace("compute", "calculate"))
    commit(folder, "second")
    return folder


def test_a_change_of_50_megabytes_is_told_by_its_first_part_and_all_its_files(ask: Ask, large: Path) -> None:
    found = ask(large, sinceCommit="HEAD~1", includeImpact=True)
    assert len(files(found)) == 500
    assert {kind for kind, _ in files(found).values()} == {"Modified"}
    assert found["metadata"]["isPartialResult"]
    assert found["metadata"]["incomplete"][0].startswith("Lines of part")


def test_a_small_budget_stops_it_and_says_how_to_continue(ask: Ask, large: Path) -> None:
    found = ask(large, sinceCommit="HEAD~1", budget=Budget(limit=0.01, seconds=300, price=0.05))
    metadata = found["metadata"]
    assert metadata["totalCost"] <= 0.01
    assert metadata["totalCost"] == pytest.approx(sum(each["cost"] for each in metadata["tools"]), abs=1e-9)
    assert metadata["budget"] == {"limit": 0.01, "used": metadata["totalCost"], "exceeded": True}
    assert {each["name"] for each in metadata["tools"] if each["budgetExceeded"]} >= {"diff"}
    assert len(files(found)) == 500
    assert 1 <= metadata["filesProcessed"] < 500
    assert "the budget was used up" in " ".join(metadata["incomplete"])
    tool, _, arguments = found["suggestions"][0].partition(" ")
    again = json.loads(arguments)
    more = Budget(limit=again.pop("maxCost"), seconds=300, price=0.05)
    assert (tool, more.limit >= 0.02) == ("dbp_commit_message", True)
    assert ask(large, budget=more, **again)["metadata"]["filesProcessed"] > metadata["filesProcessed"]


def test_it_stops_in_time(ask: Ask, large: Path) -> None:
    """Counted in this thread's processor time, which neither other programs nor threads of earlier tests change."""

    def timed(seconds: float) -> tuple[dict[str, Any], float]:
        before = time.thread_time()
        budget = Budget(limit=10, seconds=seconds, price=0.01, clock=time.thread_time)
        return ask(large, sinceCommit="HEAD~1", budget=budget), time.thread_time() - before

    _, whole = timed(seconds=99)
    found, stopped = timed(seconds=whole / 8)
    assert stopped < whole * 0.7
    assert found["metadata"]["budgetExceeded"]
    assert len(files(found)) == 500


# -- Diffs ----------------------------------------------------------------------------------------------

FORMS = {
    "default": ("diff", "HEAD~1", "HEAD"),
    "show": ("show",),
    "no prefix": ("diff", "--no-prefix", "HEAD~1", "HEAD"),
    "mnemonic": ("-c", "diff.mnemonicPrefix=true", "diff", "HEAD~1", "HEAD"),
    "no context": ("diff", "-U0", "HEAD~1", "HEAD"),
    "much context": ("diff", "-U99", "HEAD~1", "HEAD"),
    "format-patch": ("format-patch", "--stdout", "-1"),
    "unquoted": ("-c", "core.quotePath=false", "diff", "HEAD~1", "HEAD"),
}


@pytest.fixture
def changed(root: Path) -> Path:
    write(root, **{"headers.sql": "-- a/old\n++ b/new\n@@ -1 +1 @@\nselect 1;\n"})
    commit(root, "second")
    write(root, **{"headers.sql": "++ b/new\n-- a/new\n@@ -1 +1 @@\nselect 2;\n", "grün.py": "g = 1\n"})
    write(root, **{"x.py": NUMBERS.replace("line 15\n", "changed\n")})
    git(root, "mv", "y.py", "b.py")
    (root / "z.py").unlink()
    commit(root, "third")
    return root


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_diff_tells_what_the_repository_tells(ask: Ask, changed: Path, form: str, ends: str) -> None:
    diff = git(changed, *FORMS[form]) + "\n"
    found = ask(changed, sinceDiff=diff.replace("\n", ends))
    assert found["changedFiles"] == sorted(ask(changed)["changedFiles"], key=lambda each: _order(found, each["path"]))
    assert found["commitMessage"] == ask(changed)["commitMessage"]


def _order(answer: dict[str, Any], path: str) -> int:
    return [each["path"] for each in answer["changedFiles"]].index(path)


def test_a_plain_unified_diff(ask: Ask, tmp_path: Path) -> None:
    for side, text in (("old", "one\ntwo\n"), ("new", "one\n2\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text(text)
    diff = subprocess.run(["diff", "-ruN", "old", "new"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert first(ask(tmp_path, sinceDiff=diff))[:2] == ("a.txt", "Modified")


def test_a_diff_that_is_cut_claims_nothing_about_the_rest(ask: Ask, changed: Path) -> None:
    whole = git(changed, "show", "--", "x.py") + "\n"
    for length in range(whole.index("@@"), whole.index("-line 15"), 7):
        found = ask(changed, sinceDiff=whole[:length], format="Detailed", includeImpact=True)
        assert found["metadata"]["isPartialResult"]
        assert found["metadata"]["incomplete"] == ["Lines of x.py: too large, missing, or withheld."]
        assert "(+" not in message_of(found)


def test_the_work_tree_is_told_as_git_tells_it(root: Path) -> None:
    write(root, **{"x.py": NUMBERS.replace("line 15\n", "changed\n"), "new.py": "n = 1\n"})
    assert [each.path for each in uncommitted(opened(root)).files] == ["new.py", "x.py"]
