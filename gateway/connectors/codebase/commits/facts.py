"""Facts about a change, read from its lines: definitions, moved lines, dependencies, and what breaks callers."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gateway.connectors.codebase.commits.definitions import Defined, definition_in
from gateway.connectors.codebase.commits.dependencies import DependencyChange, dependency_changes
from gateway.connectors.codebase.commits.path_kinds import PathKind, kind_of, language_of
from gateway.connectors.codebase.git.changes import ChangeSet, DiffLine, FileChange

_SHORT = 8  # a shorter line, such as a bracket, says nothing when it stands on both sides
COMMENT = ("#", "//", "/*", "*", "--", '"""', "'''", "<!--")


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file's definitions are names, each in one of the tuples; `renamed` holds (old, new). `broken`: public names of
    source that are gone. `inside`: definitions whose body changed, by the hunks' headings."""

    change: FileChange
    kind: PathKind
    language: str
    plus: int
    minus: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    changed: tuple[str, ...]
    inside: tuple[str, ...]
    broken: tuple[str, ...]
    comments_only: bool
    blanks_only: bool


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """`moved`: the share, 0 to 1, of the removed lines that stand again among the added ones."""

    files: tuple[FileFacts, ...]
    dependencies: tuple[DependencyChange, ...]
    moved: float
    truncated: bool

    @property
    def plus(self) -> int:
        return sum(file.plus for file in self.files)

    @property
    def minus(self) -> int:
        return sum(file.minus for file in self.files)


def facts_of(changes: ChangeSet) -> ChangeFacts:
    files = tuple(_file_facts(file) for file in changes.files)
    everywhere = {name for file in files for name in (*file.added, *(new for _, new in file.renamed))}
    return ChangeFacts(
        files=tuple(_without_moved(file, everywhere) for file in files),
        dependencies=dependency_changes(changes.files),
        moved=_moved(changes.files),
        truncated=changes.truncated,
    )


def lines_of(file: FileChange) -> Iterable[DiffLine]:
    return (line for hunk in file.hunks for line in hunk.lines)


def _file_facts(file: FileChange) -> FileFacts:
    language, kind = language_of(file.path), kind_of(file.path)
    gone, come = _definitions(file, "-", language), _definitions(file, "+", language)
    still = {name for name in _definitions(file, " ", language) if name in gone or name in come}
    removed = [name for name in gone if name not in come and name not in still]
    added = [name for name in come if name not in gone and name not in still]
    renamed = _renamed([gone[name] for name in removed], [come[name] for name in added])
    olds, news = {old for old, _ in renamed}, {new for _, new in renamed}
    changed = [name for name in come if name in gone and gone[name].signature != come[name].signature]
    public = [name for name in removed if gone[name].public]
    texts = [(line.mark, line.text.strip()) for line in lines_of(file) if line.mark != " "]
    said = [text for _, text in texts if text]
    return FileFacts(
        change=file,
        kind=kind,
        language=language,
        plus=sum(mark == "+" for mark, _ in texts),
        minus=sum(mark == "-" for mark, _ in texts),
        added=tuple(name for name in added if name not in news),
        removed=tuple(name for name in removed if name not in olds),
        renamed=renamed,
        changed=tuple(changed),
        inside=_inside(file, language, {*added, *removed}),
        broken=tuple(public) if kind is PathKind.SOURCE else (),
        comments_only=bool(said) and bool(language) and all(text.startswith(COMMENT) for text in said),
        blanks_only=bool(texts) and _squeezed(texts, "+") == _squeezed(texts, "-"),
    )


def _definitions(file: FileChange, mark: str, language: str) -> dict[str, Defined]:
    found = (definition_in(line.text, language) for line in lines_of(file) if line.mark == mark)
    return {each.name: each for each in found if each}


def _renamed(gone: list[Defined], come: list[Defined]) -> tuple[tuple[str, str], ...]:
    """A definition is renamed when its line is the same but for the name. An unclear pair is none."""
    shapes: dict[str, list[Defined]] = {}
    for each in come:
        shapes.setdefault(_shape(each), []).append(each)
    once = Counter(map(_shape, gone))
    pairs = [(old.name, shapes.get(_shape(old), [])) for old in gone if once[_shape(old)] == 1]
    return tuple((name, same[0].name) for name, same in pairs if len(same) == 1)


def _shape(definition: Defined) -> str:
    return definition.signature.replace(definition.name, "\0", 1)


def _inside(file: FileChange, language: str, named: set[str]) -> tuple[str, ...]:
    """Git's heading is the last definition above a hunk; a nearer one among the unchanged lines takes its place."""
    found: dict[str, None] = {}
    for hunk in file.hunks:
        current = definition_in(hunk.heading, language)
        for line in hunk.lines:
            if line.mark == " ":
                current = definition_in(line.text, language) or current
            elif current and current.name not in named and line.text.strip():
                found.setdefault(current.name)
            if line.mark != " " and definition_in(line.text, language):
                current = None
    return tuple(found)


def _squeezed(texts: list[tuple[str, str]], mark: str) -> str:
    return "".join("".join(text.split()) for each, text in texts if each == mark).replace(",", "").replace(";", "")


def _moved(files: tuple[FileChange, ...]) -> float:
    sides: dict[str, Counter[str]] = {"+": Counter(), "-": Counter()}
    for file in files:
        for line in lines_of(file):
            text = line.text.strip()
            if line.mark != " " and len(text) > _SHORT:
                sides[line.mark][text] += 1
    gone = sides["-"].total()
    return (sides["-"] & sides["+"]).total() / gone if gone else 0.0


def _without_moved(file: FileFacts, come: set[str]) -> FileFacts:
    """A public name that another file defines now was moved: callers may still find it."""
    return replace(file, broken=tuple(name for name in file.broken if name not in come))
