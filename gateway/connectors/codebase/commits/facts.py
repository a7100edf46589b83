"""Facts about a change, read from the lines of its diff: which definitions it adds, removes, renames or changes, how
many lines it only moves, which dependencies differ, and which public names are gone, so that callers may break."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile

from gateway.connectors.codebase.commits.definitions import Defined, definition_in
from gateway.connectors.codebase.commits.dependencies import DependencyChange, dependency_changes
from gateway.connectors.codebase.git.changes import ChangeSet, DiffLine, FileChange
from gateway.connectors.codebase.tree.path_kinds import PathKind, kind_of, language_of

_SHORT = 8  # characters; a line that is not longer, such as a bracket, is too common to count as moved
_MOST_MOVED = 40_000  # lines of a diff that are searched for moved ones; more would hardly change the share
# A comment line starts with one of these, in any language.
COMMENT = ("#", "//", "/*", "*", "--", '"""', "'''", "<!--")


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the diff of one file shows. `language`: "" if it is not known. `plus`, `minus`: how many lines are added and
    removed.

    The tuples hold names of definitions, such as functions and classes. `renamed`: (old, new). `changed`: those whose
    defining line differs, for example in its parameters. `inside`: those with changed lines in their body. `broken`:
    public names that a source file defined before the change, and no file of the change defines now.

    `comments_only`: all lines that differ are comments or empty. `blanks_only`: nothing but white space, commas and
    semicolons differs."""

    change: FileChange
    kind: PathKind
    language: str
    plus: int
    minus: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    changed: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    comments_only: bool = False
    blanks_only: bool = False


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """`unread`: files that were not read, because the budget was used up. `moved`: the share of the removed lines that
    are also among the added ones, 0 to 1. `truncated`: some lines or files were not read, so a definition that seems to
    be removed may be in them."""

    files: tuple[FileFacts, ...]
    unread: tuple[FileChange, ...]
    dependencies: tuple[DependencyChange, ...]
    moved: float
    truncated: bool

    @property
    def count(self) -> int:
        """How many files the change has, including those that were not read."""
        return len(self.files) + len(self.unread)

    @property
    def plus(self) -> int:
        return sum(file.plus for file in self.files)

    @property
    def minus(self) -> int:
        return sum(file.minus for file in self.files)


def facts_of(changes: ChangeSet, has_left: Callable[[], bool] = lambda: True) -> ChangeFacts:
    """Always reads the first file, and the others for as long as `has_left` returns true."""
    first, rest = changes.files[:1], changes.files[1:]
    files = tuple(map(_file_facts, chain(first, takewhile(lambda _: has_left(), rest))))
    everywhere = {name for file in files for name in (*file.added, *(new for _, new in file.renamed))}
    return ChangeFacts(
        files=tuple(_without_moved(file, everywhere) for file in files),
        unread=changes.files[len(files) :],
        dependencies=dependency_changes(tuple(file.change for file in files)),
        moved=_moved(tuple(file.change for file in files)),
        truncated=changes.truncated or len(files) < len(changes.files),
    )


def plain_facts_of(changes: ChangeSet) -> ChangeFacts:
    """The facts without definitions and dependencies, for a change in which reading these failed."""
    return ChangeFacts(tuple(map(_plain_facts, changes.files)), (), (), 0.0, changes.truncated)


def lines_of(file: FileChange) -> Iterable[DiffLine]:
    return (line for hunk in file.hunks for line in hunk.lines)


def _file_facts(file: FileChange) -> FileFacts:
    plain = _plain_facts(file)
    before, after = _definitions(file, "-", plain.language), _definitions(file, "+", plain.language)
    # A name that an unchanged line defines too, such as another overload, is neither added nor removed.
    still = {name for name in _definitions(file, " ", plain.language) if name in before or name in after}
    removed = [name for name in before if name not in after and name not in still]
    added = [name for name in after if name not in before and name not in still]
    renamed = () if file.cut else _renamed([before[name] for name in removed], [after[name] for name in added])
    olds, news = {old for old, _ in renamed}, {new for _, new in renamed}
    changed = [name for name in after if name in before and before[name].signature != after[name].signature]
    public = [name for name in removed if before[name].public]
    return replace(
        plain,
        added=tuple(name for name in added if name not in news),
        removed=tuple(name for name in removed if name not in olds),
        renamed=renamed,
        changed=tuple(changed),
        inside=_inside(file, plain.language, {*added, *removed}),
        broken=tuple(public) if plain.kind is PathKind.SOURCE else (),
    )


def _plain_facts(file: FileChange) -> FileFacts:
    language = language_of(file.path)
    texts = [(line.mark, line.text.strip()) for line in lines_of(file) if line.mark != " "]
    nonempty = [text for _, text in texts if text]
    comments = bool(nonempty) and bool(language) and all(text.startswith(COMMENT) for text in nonempty)
    blanks = bool(texts) and _squeezed(texts, "+") == _squeezed(texts, "-")
    return FileFacts(
        change=file,
        kind=kind_of(file.path),
        language=language,
        plus=sum(mark == "+" for mark, _ in texts),
        minus=sum(mark == "-" for mark, _ in texts),
        comments_only=comments and not file.cut,
        blanks_only=blanks and not file.cut,
    )


def _definitions(file: FileChange, mark: str, language: str) -> dict[str, Defined]:
    found = (definition_in(line.text, language) for line in lines_of(file) if line.mark == mark)
    return {each.name: each for each in found if each}


def _renamed(removed: list[Defined], added: list[Defined]) -> tuple[tuple[str, str], ...]:
    """(old, new) of definitions whose lines differ only in the name. If several lines match, there is no pair."""
    shapes: dict[str, list[Defined]] = {}
    for each in added:
        shapes.setdefault(_shape(each), []).append(each)
    once = Counter(map(_shape, removed))
    pairs = [(old.name, shapes.get(_shape(old), [])) for old in removed if once[_shape(old)] == 1]
    return tuple((name, same[0].name) for name, same in pairs if len(same) == 1)


def _shape(definition: Defined) -> str:
    return definition.signature.replace(definition.name, "\0", 1)


def _inside(file: FileChange, language: str, named: set[str]) -> tuple[str, ...]:
    """The definitions that have changed lines in their body, without those that are `named`. A line belongs to the last
    definition on an unchanged line above it in the hunk, or else to the one in the hunk's heading, where git writes the
    last definition above the hunk. A definition ends at a changed line that defines something or is not indented."""
    found: dict[str, None] = {}
    for hunk in file.hunks:
        current = definition_in(hunk.heading, language)
        for line in hunk.lines:
            here = definition_in(line.text, language)
            if line.mark == " ":
                current = here or current
            elif here or line.text[:1].isidentifier():
                current = None
            elif current and current.name not in named and line.text.strip():
                found.setdefault(current.name)
    return tuple(found)


def _squeezed(texts: list[tuple[str, str]], mark: str) -> str:
    """One side of the diff, without the white space and separators that a formatter changes."""
    return "".join("".join(text.split()) for each, text in texts if each == mark).replace(",", "").replace(";", "")


def _moved(files: tuple[FileChange, ...]) -> float:
    sides: dict[str, Counter[str]] = {"+": Counter(), "-": Counter()}
    for line in islice(chain.from_iterable(map(lines_of, files)), _MOST_MOVED):
        text = line.text.strip()
        if line.mark != " " and len(text) > _SHORT:
            sides[line.mark][text] += 1
    removed = sides["-"].total()
    return (sides["-"] & sides["+"]).total() / removed if removed else 0.0


def _without_moved(file: FileFacts, defined: set[str]) -> FileFacts:
    """The facts without the broken names that some file of the change defines now: these were moved, so callers may
    still find them."""
    return replace(file, broken=tuple(name for name in file.broken if name not in defined))
