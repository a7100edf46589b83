"""Sentences about a change, from its facts. They are imperative and have no full stop; names are in backticks."""

import stat

from gateway.connectors.codebase.commits.facts import FileFacts
from gateway.connectors.codebase.commits.quoting import listed, quoted
from gateway.connectors.codebase.commits.salient import first_replaced_word, gained_tests, replaced_word, salient
from gateway.connectors.codebase.git.changes import ChangeKind, FileChange
from gateway.connectors.codebase.tree.path_kinds import PathKind

_EXECUTABLE = 0o111
_FEW_LINES = 12  # changed lines; a single line does not represent a longer change


def summary(file: FileFacts, *, truncated: bool) -> str:
    """The changes of one file, such as "add `a` and `b`; remove `c`". For a truncated diff, it names no removed
    definitions."""
    parts = [*_whole(file), *_definitions(file, truncated=truncated)]
    if not _definitions(file, truncated=truncated):
        parts += _words(file)
    if file.change.kind is ChangeKind.MODIFIED and not parts:
        parts.append("update it")
    if file.change.cut:
        parts.append("not all of its lines were looked at")
    lines = f"+{file.plus} -{file.minus}" if file.plus + file.minus and not file.change.cut else ""
    text = "; ".join(parts)
    return f"{text} ({lines})" if lines else text


def _whole(file: FileFacts) -> list[str]:
    change = file.change
    found: list[str] = []
    if change.kind is ChangeKind.RENAMED:
        found.append(f"rename {quoted(change.old_path or '')} to {quoted(change.path)}")
    what = "submodule" if change.submodule else "binary file" if change.binary else "file"
    if change.kind is ChangeKind.ADDED:
        found.append(f"new {what}")
    if change.kind is ChangeKind.DELETED:
        found.append(f"{what} deleted")
    if change.kind is ChangeKind.MODIFIED and (change.submodule or change.binary):
        found.append(f"{what} updated")
    if change.old_mode and change.new_mode and change.old_mode != change.new_mode:
        is_permission = stat.S_IFMT(change.old_mode) == stat.S_IFMT(change.new_mode)
        mode = f"mode {change.old_mode & 0o777:o} becomes {change.new_mode & 0o777:o}"
        found.append(mode if is_permission else f"becomes {_became(change) or 'another kind of file'}")
    if file.blanks_only:
        found.append("only white space and separators differ")
    elif file.comments_only:
        found.append("only comments differ")
    return found


def _definitions(file: FileFacts, *, truncated: bool) -> list[str]:
    if file.change.kind is ChangeKind.DELETED:
        return []
    found = [f"rename {quoted(old)} to {quoted(new)}" for old, new in file.renamed[:2]]
    if file.added:
        found.append(f"add {listed(file.added)}")
    if file.removed and not truncated:
        found.append(f"remove {listed(file.removed)}")
    if file.changed:
        found.append(f"new signature of {listed(file.changed)}")
    if file.inside:
        found.append(f"update {listed(file.inside)}")
    return found


def _words(file: FileFacts) -> list[str]:
    if pair := replaced_word(file.change):
        return [f"change {quoted(pair[0])} to {quoted(pair[1])}"]
    if file.change.kind is not ChangeKind.MODIFIED:
        return []
    added = salient(file.change, "+")
    return [f"mention {listed(added[:2])}"] if added else []


def main_sentences(file: FileFacts, kind: str, where: str, *, truncated: bool) -> list[str]:
    """Candidates for the title, about the main file, the most specific first. `kind` is the commit's type."""
    at, found = f" in {quoted(where)}", list[str]()
    change = file.change
    if file.kind is PathKind.TEST and (names := gained_tests(change)):
        found += [f'cover "{name}"{at}' for name in names[:2]] + [f'cover "{name}"' for name in names[:3]]
    if change.kind is ChangeKind.RENAMED:
        found.append(f"rename {quoted(change.old_path or '')} to {quoted(change.path)}")
        found.append(f"rename {quoted((change.old_path or '').rpartition('/')[2])} to {quoted(where)}")
    if change.kind is ChangeKind.DELETED:
        found += [f"delete {quoted(change.path)}", f"delete {quoted(where)}"]
    if change.kind is ChangeKind.MODIFIED and not file.plus + file.minus and (became := _became(change)):
        found += [f"make {quoted(change.path)} {became}", f"make {quoted(where)} {became}"]
    if pair := replaced_word(change):
        found.append(f"change {quoted(pair[0])} to {quoted(pair[1])}{at}")
        found.append(f"change {quoted(pair[0])} to {quoted(pair[1])}")
    found += _of_definitions(file, kind, at, truncated=truncated)
    if not replaced_word(change) and file.plus + file.minus <= _FEW_LINES and (pair := first_replaced_word(change)):
        found.append(f"change {quoted(pair[0])} to {quoted(pair[1])}{at}")
    verb = "mention" if file.kind is PathKind.DOCS or file.comments_only else "use"
    if change.kind is ChangeKind.ADDED:
        found += [f"add {quoted(change.path)}", f"add {quoted(where)}"]
    places = (*(f" in {quoted(name)}" for name in file.inside[:1]), at)
    added, removed = salient(change, "+"), salient(change, "-")
    for place in places:
        found += _pairs(verb, added, () if truncated else removed, place)
        found += [f"{verb} {quoted(word)}{place}" for word in added[:3]]
        found += [f"drop {quoted(word)}{place}" for word in removed[:2] if not added and not truncated]
    return found


def _became(change: FileChange) -> str:
    """What a file became when its mode changed; empty if there is no word for it."""
    old, new = change.old_mode or 0, change.new_mode or 0
    if stat.S_IFMT(old) != stat.S_IFMT(new):
        return "a link" if stat.S_ISLNK(new) else "a file" if stat.S_ISLNK(old) else ""
    if bool(old & _EXECUTABLE) != bool(new & _EXECUTABLE):
        return "executable" if new & _EXECUTABLE else "not executable"
    return ""


def _of_definitions(file: FileFacts, kind: str, at: str, *, truncated: bool) -> list[str]:
    found: list[str] = []
    adding = [f"add {listed(file.added, most)}{at}" for most in (3, 2, 1) if len(file.added) >= most]
    if kind != "fix":
        found += adding
    for old, new in file.renamed[:1]:
        found += [f"rename {quoted(old)} to {quoted(new)}{at}", f"rename {quoted(old)} to {quoted(new)}"]
    if file.removed and not file.added and not truncated:
        found += [f"remove {listed(file.removed, most)}{at}" for most in (3, 2, 1) if len(file.removed) >= most]
    added = [word for word in salient(file.change, "+")[:3] if word not in file.inside]
    if file.inside and file.kind is PathKind.SOURCE:
        verb = "correct" if kind == "fix" else "update"
        place = f" in {quoted(file.inside[0])}"
        removed = () if truncated else salient(file.change, "-")
        for spot in (place + at.replace(" in ", " of ", 1), place):  # many files have a definition of the same name
            found += _pairs("use", tuple(added), removed, spot)
            found += [f"use {quoted(word)}{spot}" for word in added]
        found += [f"{verb} {listed(file.inside, most)}{at}" for most in (3, 2, 1) if len(file.inside) >= most]
    if file.changed:
        found.append(f"update {listed(file.changed, 2)}{at}")
    return [*found, *adding] if kind == "fix" else found


def _pairs(verb: str, added: tuple[str, ...], removed: tuple[str, ...], place: str) -> list[str]:
    """Sentences with two names, which distinguish similar changes better than one name does."""
    found = [f"{verb} {quoted(added[0])} and {quoted(other)}{place}" for other in added[1:4]]
    return found + [f"{verb} {quoted(added[0])}, drop {quoted(other)}{place}" for other in removed[:3] if added]
