"""The message of a change: the title is the first of several candidates that fits; the body is as long as allowed.
Every sentence is checked against the diff before it is used."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from gateway.connectors.codebase.commits.facts import ChangeFacts, FileFacts
from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.commits.quoting import listed, quoted
from gateway.connectors.codebase.commits.summaries import Summaries
from gateway.connectors.codebase.commits.truth import Truth
from gateway.connectors.codebase.commits.type_choice import type_of
from gateway.connectors.codebase.commits.wording import main_sentences
from gateway.connectors.codebase.git.changes import ChangeKind
from gateway.connectors.codebase.tree.path_kinds import PathKind

TITLE_MAX = 72
LENGTH_MIN, LENGTH_MAX = 20, 20_000
_NAMES_OF_MANY = frozenset(("__init__", "index", "main", "mod", "lib", "readme", "config", "types", "utils"))
_FEW_FILES = 6  # in the body of a conventional message


class MessageFormat(StrEnum):
    """Conventional: "type(scope): title", and a line for each of the first files. Detailed: the same with all files.
    Summary: one plain sentence."""

    CONVENTIONAL = "Conventional"
    DETAILED = "Detailed"
    SUMMARY = "Summary"


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """`text` is the whole message: the parts that are not empty, with an empty line between them."""

    title: str
    body: str
    footer: str

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (self.title, self.body, self.footer) if part)


def commit_message(
    facts: ChangeFacts,
    truth: Truth,
    summaries: Summaries,
    habits: Habits | None = None,
    *,
    form: MessageFormat = MessageFormat.CONVENTIONAL,
    scope: str | None = None,
    max_length: int = LENGTH_MAX,
) -> CommitMessage:
    """`truth`: built from the files that were read. `scope`: the caller's, or None for the one that the project's
    history suggests. `max_length`: characters of the whole message."""
    if not LENGTH_MIN <= max_length <= LENGTH_MAX:
        raise ValueError(f"maxLength is {max_length}. Expected: a number from {LENGTH_MIN} to {LENGTH_MAX:,}.")
    kind = type_of(facts, habits)
    if scope is None and habits is not None:
        scope = habits.scope_of([file.change.path for file in facts.files], kind)
    plain = form is MessageFormat.SUMMARY
    broken = broken_names(facts)
    title = _title(facts, truth, kind, "" if plain else scope or "", min(TITLE_MAX, max_length), plain, bool(broken))
    if plain:
        return CommitMessage(title, "", "")
    left = max_length - len(title)
    footer = f"BREAKING CHANGE: {listed(broken, 5)} {'is' if len(broken) == 1 else 'are'} gone." if broken else ""
    footer = footer if len(footer) + 2 <= left and truth.holds(footer) else ""
    left -= len(footer) + 2 if footer else 0
    most = _FEW_FILES if form is MessageFormat.CONVENTIONAL else len(facts.files)
    return CommitMessage(title, _body(facts, summaries, most, left - 2), footer)


def _title(
    facts: ChangeFacts, truth: Truth, kind: str, scope: str, room: int, plain: bool, breaking: bool
) -> str:  # fmt: skip
    mark = "!" if breaking else ""
    heads = [""] if plain else [f"{kind}({scope}){mark}: ", f"{kind}{mark}: "] if scope else [f"{kind}{mark}: "]
    sentences = list(_sentences(facts, kind))
    for head in heads:
        for sentence in sentences:
            title = head + (sentence[0].upper() + sentence[1:] if plain else sentence)
            if len(title) <= room and truth.holds(sentence):
                return title
    return f"{heads[-1]}update"[:room] if not plain else "Update"


def _sentences(facts: ChangeFacts, kind: str) -> Iterator[str]:
    files = facts.files
    main = main_file(facts, kind)
    name = main.change.path.rpartition("/")[2]
    if all(file.kind is PathKind.DEPENDENCIES for file in files) and not facts.unread:
        yield from _of_dependencies(facts)
    renamed = [file for file in files if file.change.kind is ChangeKind.RENAMED]
    if len(renamed) == facts.count > 1:
        folder = main.change.path.rpartition("/")[0]
        if folder and all(file.change.path.startswith(f"{folder}/") for file in files):
            yield f"move {quoted(name)} and {len(files) - 1} more to {quoted(folder)}"
    others = facts.count - 1
    wheres = (*_with_folder(main), name)
    for sentences in zip(
        *(main_sentences(main, kind, each, truncated=facts.truncated) for each in wheres), strict=True
    ):
        yield from sentences
    counts = "" if facts.truncated or not facts.plus + facts.minus else f" (+{facts.plus} -{facts.minus})"
    more = f" and {others} more file{'s' if others > 1 else ''}" if others else ""
    for each in (main.change.path, name):
        yield f"update {quoted(each)}{more}{counts}"
    yield f"update {quoted(name)}{more}"
    yield f"update {facts.count} file{'s' if others else ''}{counts}"
    yield f"update {facts.count} files" if others else "update a file"


def _with_folder(file: FileFacts) -> tuple[str, ...]:
    """The folder and name of a file such as package.json, whose name is common in a project; empty for other files."""
    folders, _, name = file.change.path.rpartition("/")
    is_common = file.kind is PathKind.DEPENDENCIES or name.partition(".")[0].lower() in _NAMES_OF_MANY
    return (f"{folders.rpartition('/')[2]}/{name}",) if folders and is_common else ()


def _of_dependencies(facts: ChangeFacts) -> Iterator[str]:
    found = facts.dependencies
    if not found:
        return
    first, more = found[0], f" and {len(found) - 1} more" if len(found) > 1 else ""
    if first.old and first.new:
        yield f"bump {quoted(first.name)} from {quoted(first.old)} to {quoted(first.new)}{more}"
        yield f"bump {quoted(first.name)} to {quoted(first.new)}{more}"
    elif first.new:
        yield f"add {quoted(first.name)} {quoted(first.new)}{more}"
    elif not facts.truncated:
        yield f"remove {quoted(first.name)}{more}"


_MAIN_KIND = {"docs": PathKind.DOCS, "test": PathKind.TEST, "ci": PathKind.CI, "build": PathKind.BUILD}


def main_file(facts: ChangeFacts, kind: str) -> FileFacts:
    """The file that the title is about. Files of the kind that the type names come first, then source, then files other
    than lock files, then the most changed."""
    wanted = _MAIN_KIND.get(kind, PathKind.SOURCE)

    def rank(file: FileFacts) -> tuple[bool, bool, bool, int, str]:
        lock = file.change.path.endswith((".lock", "-lock.json", "-lock.yaml", "go.sum", ".snap"))
        return (file.kind is wanted, file.kind is PathKind.SOURCE, not lock, file.plus + file.minus, file.change.path)

    return max(facts.files, key=rank)


def broken_names(facts: ChangeFacts) -> tuple[str, ...]:
    """Public names that the change removes, outside of folders for internal use. Empty if the diff was not read whole,
    because the rest may define them."""
    if facts.truncated:
        return ()
    inner = ("internal", "private", "cmd", "scripts", "examples", "playground", "bench", "benches")
    outer = (file for file in facts.files if not set(file.change.path.split("/")) & set(inner))
    return tuple(dict.fromkeys(name for file in outer for name in file.broken))


def _body(facts: ChangeFacts, summaries: Summaries, most: int, room: int) -> str:
    files = by_weight(facts.files)[:most]
    return file_list((f"- {quoted(file.change.path)}: {summaries.of(file)}" for file in files), facts.count, room)


def by_weight(files: Iterable[FileFacts]) -> list[FileFacts]:
    """Source first, then the most changed."""
    return sorted(files, key=lambda file: (file.kind is not PathKind.SOURCE, -file.plus - file.minus))


def file_list(lines: Iterable[str], count: int, room: int) -> str:
    """As many of the lines as fit into `room` characters, and a last line that says how many of the `count` files are
    left out."""
    found: list[str] = []
    for at, line in enumerate(lines):
        left = count - at - 1
        spare = len(_rest(left)) + 1 if left else 0
        if sum(map(len, found)) + len(found) + len(line) + spare > room:
            break
        found.append(line)
    left = count - len(found)
    if found and left:
        found.append(_rest(left))
    return "\n".join(found)


def _rest(count: int) -> str:
    return f"- and {count} more file{'s' if count != 1 else ''}"
