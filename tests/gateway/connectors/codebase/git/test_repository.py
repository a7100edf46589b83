"""Repositories whose configuration or shape means harm: nothing of it runs, and nothing outside is read."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.connectors.codebase.git.history import past
from gateway.connectors.codebase.git.refusal import RepositoryRefused
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.git.worktree import since, uncommitted
from tests.gateway.connectors.codebase.repositories import commit, git, new, write

_UNCOMMITTED = """
import sys
from pathlib import Path
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.git.worktree import uncommitted
print(*(each.path for each in uncommitted(opened(Path(sys.argv[1]))).files))
"""
HOOKS = ("post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction", "post-checkout")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Every setting that makes git itself start a program names one that leaves a file behind."""
    folder = new(
        tmp_path / "hostile", **{"a.py": "1\n", "moved.py": "m\n" * 9, ".gitattributes": "*.py diff=x filter=x\n"}
    )
    canary = tmp_path / "canary.sh"
    canary.write_text(f"#!/bin/sh\ntouch {tmp_path}/fired\ncat\n")
    canary.chmod(0o755)
    settings = [
        *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "diff.external"),
        *("diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.smudge", "filter.x.process"),
        *("merge.x.driver", "gpg.program", "credential.helper", "core.gitProxy", "uploadpack.packObjectsHook"),
    ]
    config = folder / ".git/config"
    with config.open("a") as file:
        for name in settings:
            section, _, key = name.rpartition(".")
            head, _, sub = section.partition(".")
            file.write(f'[{head} "{sub}"]\n' if sub else f"[{head}]\n")
            file.write(f"\t{key} = {canary}\n")
        for alias in ("diff", "log", "status", "show"):
            file.write(f"[alias]\n\t{alias} = !{canary}\n")
        file.write(f"[log]\n\tshowSignature = true\n[core]\n\thooksPath = {tmp_path}/hooks\n")
        file.write('[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n')
        file.write(f"\turl = ext::{canary}\n[protocol]\n\tallow = always\n")
    for hooks in (tmp_path / "hooks", folder / ".git/hooks"):
        hooks.mkdir(exist_ok=True)
        for name in HOOKS:
            (hooks / name).symlink_to(canary)
    write(folder, **{"a.py": "1\n2\n", "new.py": "n\n"})
    (folder / "moved.py").rename(folder / "b.py")
    return folder


def test_nothing_of_a_configuration_is_run(hostile: Path, tmp_path: Path):
    repository = opened(hostile)
    assert {each.path for each in uncommitted(repository).files} == {"a.py", "b.py", "new.py"}
    assert since(repository, "HEAD").files
    assert len(list(past(repository))) == 1
    assert not (tmp_path / "fired").exists()


def test_the_command_itself_would_have_run_it(hostile: Path, tmp_path: Path):
    """Without this, the test above could pass because its traps do not work."""
    git(hostile, "diff", "HEAD")
    assert (tmp_path / "fired").exists()


def test_missing_objects_are_not_fetched(hostile: Path, tmp_path: Path):
    blob = git(hostile, "-c", "core.fsmonitor=", "rev-parse", "HEAD:a.py")
    (hostile / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert uncommitted(opened(hostile)).truncated
    assert not (tmp_path / "fired").exists()


def test_a_work_tree_elsewhere_is_refused(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("private\n")
    git(folder, "config", "core.worktree", str(outside))
    with pytest.raises(RepositoryRefused, match=r"core\.worktree"):
        opened(folder)


def test_a_bare_repository_needs_no_configuration(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    bare = tmp_path / "objects"
    (folder / ".git").rename(bare)
    (bare / "config").unlink()
    repository = opened(bare)
    assert repository.is_bare
    assert [each.path for each in uncommitted(repository).files] == ["a.py"]


def test_a_git_folder_is_no_project(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    for _ in ("with its configuration", "without"):
        with pytest.raises(RepositoryRefused, match=rf"inside of a git repository.*: {folder}$"):
            opened(folder / ".git")
        (folder / ".git/config").unlink(missing_ok=True)


def test_a_folder_that_became_a_link_is_not_entered(tmp_path: Path):
    folder = new(tmp_path / "work", **{"src/private.txt": "1\n"})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/private.txt").write_text("private\n")
    (folder / "src/private.txt").unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to(tmp_path / "outside")
    assert "text='private'" not in str(uncommitted(opened(folder)))


def test_the_machine_s_own_configuration_has_no_effect(tmp_path: Path):
    """In a process of its own, as libgit2 looks for that configuration once, when it is loaded."""
    (tmp_path / "ignored").write_text("new.py\n")
    for name in (".gitconfig", ".config/git/config"):
        write(tmp_path, **{name: f"[core]\n\texcludesFile = {tmp_path}/ignored\n"})
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    write(folder, **{"new.py": "1\n"})
    told = subprocess.run(
        [sys.executable, "-c", _UNCOMMITTED, str(folder)],
        env=os.environ | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.split() == ["new.py"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_owner_is_read(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    for each in (folder, folder / ".git"):
        os.chown(each, 12345, 12345)
    assert len(uncommitted(opened(folder)).files) == 1


def test_a_broken_repository_is_named(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    (folder / ".git/config").write_text("[core\n")
    with pytest.raises(RepositoryRefused, match=r"cannot be read: .*Check it with `git -C"):
        opened(folder)


@pytest.mark.parametrize("extension", ["objectformat = sha256", "refstorage = reftable"])
def test_a_format_that_libgit2_does_not_read_is_told_from_damage(tmp_path: Path, extension: str):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    (folder / ".git/config").write_text(f"[core]\n\trepositoryformatversion = 1\n[extensions]\n\t{extension}\n")
    with pytest.raises(RepositoryRefused, match=r"cannot be read: .*Add a copy of it in git's default format\.$"):
        opened(folder)


def test_a_git_file_may_lead_to_the_objects_alone(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n"})
    (folder / ".git").rename(tmp_path / "elsewhere.git")
    (folder / ".git").write_text(f"gitdir: {tmp_path}/elsewhere.git\n")
    write(folder, **{"a.py": "2\n"})
    assert [each.path for each in uncommitted(opened(folder)).files] == ["a.py"]


def test_an_unreadable_file_does_not_stop_the_others(tmp_path: Path):
    folder = new(tmp_path / "work", **{"a.py": "1\n", "b.py": "1\n"})
    commit(folder, "second")
    write(folder, **{"b.py": "2\n", "a.py": "2\n"})
    (folder / "a.py").chmod(0)
    assert "b.py" in {each.path for each in uncommitted(opened(folder)).files}
    (folder / "a.py").chmod(stat.S_IRUSR | stat.S_IWUSR)
