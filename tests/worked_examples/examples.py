"""The worked examples of the documentation: sections "Add a …" whose blocks are patches and commands."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from tests import shared, tables

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/engineers.md", "docs/connectors.md")
# By the last word of a heading: how many files the addition may change. Tests, documentation, migrations and what
# `make docs` writes are not counted.
MAX_FILES = {"filter": 2, "setting": 3, "figure": 3, "reduction": 4, "transport": 3, "connector": 2}
WRITTEN = {".env.example"}  # by `make docs`
MANAGE = ".venv/bin/python manage.py "
MAKE = {"make docs": [sys.executable, "-m", "tests.settings_reference"]}  # no other environment is made
LINT = [sys.executable, "-m", "ruff", "check", "-q", "--no-cache", "--select", "F", "."]  # such as undefined names
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.worked_examples.trial"]
STORES = {"DATABASE_URL", "REDIS_URL"}  # of this run, whose test database is in use
SECONDS = 600  # of a command, which takes a few; a busy machine must not look like one that hangs

_SECTION = re.compile(r"^## (Add an? .*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(diff|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEW_TEST = re.compile(r"^\+(?:async )?def (test_\w+)", re.MULTILINE)
_NAMED_TEST = re.compile(r"`(tests/[\w/]+/test_\w+\.py|tests/test_\w+\.py)`")


class ExampleError(AssertionError):
    """The example does not work as it is written. The message quotes the command that failed."""


@dataclass(frozen=True)
class Example:
    title: str
    patches: tuple[str, ...]
    commands: tuple[str, ...]
    named_tests: tuple[str, ...]  # files that the section's text names as checks

    @property
    def most_files(self) -> int:
        return MAX_FILES[self.title.split()[-1]]

    @property
    def new_tests(self) -> list[str]:
        """The node ids of the tests that it adds."""
        return [f"{_path(patch)}::{name}" for patch in self.patches for name in _NEW_TEST.findall(patch)]

    @property
    def tests(self) -> list[str]:
        """The files with its new tests, and those that its text names."""
        return list(dict.fromkeys([*(each.partition("::")[0] for each in self.new_tests), *self.named_tests]))


def examples() -> list[Example]:
    return [
        Example(title, tuple(blocks.get("diff", ())), tuple(_commands(blocks.get("console", ()))), _named_tests(text))
        for document in DOCUMENTS
        for title, text in _SECTION.findall((ROOT / document).read_text())
        if (blocks := _blocks(text)).get("diff")
    ]


def _blocks(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language, body in _BLOCK.findall(text):
        found.setdefault(language, []).append(body)
    return found


def _named_tests(text: str) -> tuple[str, ...]:
    return tuple(_NAMED_TEST.findall(_BLOCK.sub("", text)))


def _commands(blocks: Sequence[str]) -> Iterator[str]:
    for block in blocks:
        yield from (line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ "))


def _path(patch: str) -> str:
    """The file that a block changes: one block, one file."""
    (path,) = re.findall(r"^\+\+\+ b/(.+)$", patch, re.MULTILINE)
    return str(path)


def counted(paths: Sequence[str]) -> set[str]:
    """The files that count against the limit of an addition."""
    return {path for path in paths if _counts(PurePosixPath(path))}


def _counts(path: PurePosixPath) -> bool:
    return path.parts[0] not in {"tests", "docs"} and "migrations" not in path.parts and str(path) not in WRITTEN


class ScratchCopy:
    """A copy of the working tree, under Git, so that each example starts from the same files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = run(ROOT, ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        files = [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]
        compiled = {file.parent / "__pycache__" for file in files if file.suffix == ".py"}
        for path in (*files, *(found.relative_to(ROOT) for each in compiled for found in (ROOT / each).glob("*.pyc"))):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path)  # with its time, by which Python knows what it has compiled
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--no-verify", "-m", "The product"]):
            run(folder, ["git", "-c", "user.name=tests", "-c", "user.email=tests@localhost", *arguments])

    def apply(self, patches: Sequence[str]) -> None:
        """Raises ExampleError if one does not apply."""
        for patch in patches:
            run(self.folder, ["git", "apply", "-"], patch)

    def try_out(self, commands: Sequence[str], tests: Sequence[str]) -> None:
        """Runs the commands. Raises ExampleError if one fails, if a migration is missing then, if a name is not
        defined, or if a test fails.

        The tests find a copy of this run's tables, and add what the example adds to it alone."""
        run(self.folder, LINT)
        with tempfile.TemporaryDirectory(prefix="sluice-example-") as directory:
            shutil.copy2(tables.made(), directory)
            self._try(commands, tests, {shared.VARIABLE: directory})

    def _try(self, commands: Sequence[str], tests: Sequence[str], variables: dict[str, str]) -> None:
        for command in commands:
            if command in MAKE:
                run(self.folder, MAKE[command])
        managed = [f"--manage={each.removeprefix(MANAGE)}" for each in commands if each.startswith(MANAGE)]
        assert len(managed) == sum(command not in MAKE for command in commands), commands
        run(self.folder, [*PYTEST, *managed, *tests], variables=variables)

    def changed(self) -> list[str]:
        """The paths of the files that differ from the product's."""
        status = run(self.folder, ["git", "status", "--porcelain", "-z", "--untracked-files=all"])
        return [line[3:] for line in status.split("\0") if line]

    def reset(self) -> None:
        run(self.folder, ["git", "reset", "-q", "--hard"])
        run(self.folder, ["git", "clean", "-qfd"])


def run(folder: Path, command: list[str], text: str = "", variables: Mapping[str, str] = MappingProxyType({})) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in STORES} | variables
    done = subprocess.run(
        command, cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise ExampleError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout
