"""The evidence in a change that speaks for the types of commits: named features, each with a strength."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from math import log2

from gateway.connectors.codebase.commits.change_notes import is_note, noted_kind
from gateway.connectors.codebase.commits.facts import COMMENT, ChangeFacts, FileFacts, lines_of
from gateway.connectors.codebase.commits.line_evidence import differing_words, is_typo, of_hunks, replaced, rough
from gateway.connectors.codebase.git.changes import ChangeKind
from gateway.connectors.codebase.tree.path_kinds import PathKind

_WORDS = {
    "condition": re.compile(r"\b(if|unless|else|guard|when)\b|\?\.|\?\?|&&|\|\|"),
    "nothing": re.compile(r"\b(null|undefined|None|nil|Some|empty|isEmpty|length)\b"),
    "failure": re.compile(r"\b(throw|raise|catch|except|error|err|Err|Error|warn|panic|fail\w*)\b"),
    "option": re.compile(r"\b(option|options|config|flag|setting|default|param|argument)\w*\b", re.IGNORECASE),
    "speed": re.compile(r"\b(cache|cached|memo\w*|perf\w*|benchmark|lazy|fast\w*|Map|Set|HashMap)\b"),
    "obsolete": re.compile(r"\b(deprecat\w*|legacy|obsolete)\b", re.IGNORECASE),
    "mistake": re.compile(r"\b(fix\w*|bug\w*|issue|regress\w*|workaround|avoid|ensure|correct\w*)\b", re.IGNORECASE),
    "support": re.compile(r"\b(support\w*|allow\w*|enable\w*|new|introduc\w*|experimental)\b", re.IGNORECASE),
    "import": re.compile(r"^\s*(import|from|use|require|export \*|#include|package)\b"),
    "export": re.compile(r"^\s*(export|pub|public)\b"),
    "type": re.compile(r"^\s*(type|interface)\b|:\s*(string|number|boolean|any|unknown)\b|\bas \w+"),
    "number": re.compile(r"""["'v]?\d+\.\d+(\.\d+)?"""),
    "link": re.compile(r"https?://"),
}


_LINES = 3_000  # lines of each side that are searched for words; more would add nothing
_HUNKS = 100  # hunks of a file that are searched for evidence outside of source


def evidence_of(facts: ChangeFacts) -> dict[str, float]:
    """Feature → strength, usually up to 3. Features with the strength 0 are left out."""
    found: dict[str, float] = {"always": 1.0}
    files = facts.files
    lines = facts.plus + facts.minus
    found |= _of_mixture(facts)
    for kind in PathKind:
        of_kind = [file for file in files if file.kind is kind]
        if of_kind:
            changed = sum(file.plus + file.minus for file in of_kind)
            found[f"some {kind}"] = 1.0
            found[f"share of {kind}"] = len(of_kind) / len(files)
            found[f"lines of {kind}"] = changed / lines if lines else 0.0
            if len(of_kind) == len(files):
                found[f"only {kind}"] = 1.0
            if any(file.change.kind is ChangeKind.ADDED for file in of_kind):
                found[f"new {kind}"] = 1.0
            if any(file.change.kind is ChangeKind.DELETED for file in of_kind):
                found[f"gone {kind}"] = 1.0
    source = [file for file in files if file.kind is PathKind.SOURCE]
    if source:
        found |= _of_source(source)
        kinds = {file.kind for file in files}
        found["source with docs"] = float(PathKind.DOCS in kinds)
        found["source with tests"] = float(PathKind.TEST in kinds)
        found["source, docs and tests"] = float({PathKind.DOCS, PathKind.TEST} <= kinds)
        found["source with dependencies"] = float(PathKind.DEPENDENCIES in kinds)
    found["moved"] = facts.moved
    found["size"] = log2(1 + lines) / 4
    found["files"] = log2(len(files)) / 2
    found["mostly added"] = facts.plus / lines if lines else 0.0
    found["renamed file"] = float(any(file.change.kind is ChangeKind.RENAMED for file in files))
    found["versions"] = float(bool(facts.dependencies))
    found["new dependency"] = float(any(each.old is None for each in facts.dependencies))
    found["no text"] = float(lines == 0)
    for test, name in ((_comments, "comments only"), (_blanks, "blanks only")):
        found[name] = float(bool(lines) and all(test(file) for file in files if file.plus + file.minus))
    found |= _of_dependencies(facts)
    for name in (*_names(files), *_in_other_files(files), *_noted(files)):
        found[name] = 1.0
    return {name: strength for name, strength in found.items() if strength}


def _of_mixture(facts: ChangeFacts) -> dict[str, float]:
    """Which kinds of files the change has, which kind has the most lines, and how many lines and files there are."""
    lines = Counter[PathKind]()
    for file in facts.files:
        lines[file.kind] += file.plus + file.minus
    total = lines.total()
    most = max(lines, key=lambda kind: (lines[kind], kind))
    found = {f"kinds {'+'.join(sorted(lines))}": 1.0, f"mostly {most}": 1.0}
    if len(lines) > 1:
        found[f"mostly {most}, of several"] = 1.0
    if total and lines[most] / total > 0.9:
        found[f"nearly only {most}"] = 1.0
    for kind, count in lines.items():
        found[f"size of {kind}"] = log2(1 + count) / 4
        found[f"lines of {kind} about {rough(count)}"] = 1.0
    found[f"files about {rough(len(facts.files))}"] = 1.0
    found[f"added lines about {rough(facts.plus)}"] = 1.0
    found[f"removed lines about {rough(facts.minus)}"] = 1.0
    if len(facts.files) == 1:
        found[f"one file, {min(4, facts.files[0].change.path.count('/'))} folders down"] = 1.0
    both = lines[PathKind.TEST] + lines[PathKind.SOURCE]
    if lines[PathKind.TEST] and lines[PathKind.SOURCE]:
        found["tests among tests and source"] = lines[PathKind.TEST] / both
        found[f"tests among tests and source about {int(lines[PathKind.TEST] / both * 5)}"] = 1.0
    return found


def _of_dependencies(facts: ChangeFacts) -> dict[str, float]:
    known = facts.dependencies
    if not known:
        return {}
    return {
        f"dependencies about {rough(len(known))}": 1.0,
        "dependency gone": float(any(each.new is None for each in known)),
        "dependency of another version": float(any(each.new and each.old for each in known)),
    }


def _of_source(files: list[FileFacts]) -> dict[str, float]:
    plus = sum(file.plus for file in files)
    minus = sum(file.minus for file in files)
    found = {
        "source size": log2(1 + plus + minus) / 4,
        "source added": plus / (plus + minus) if plus + minus else 0.0,
        "source nothing removed": float(minus == 0 and plus > 0),
        "source nothing added": float(plus == 0 and minus > 0),
        "source files": log2(len(files)),
        "few lines": float(plus + minus <= 6),
        "definitions added": log2(1 + sum(len(file.added) for file in files)) / 2,
        "definitions removed": log2(1 + sum(len(file.removed) for file in files)) / 2,
        "definitions renamed": float(any(file.renamed for file in files)),
        "signatures changed": float(any(file.changed for file in files)),
        "bodies changed": log2(1 + sum(len(file.inside) for file in files)) / 2,
        "public gone": float(any(file.broken for file in files)),
        "no definition added": float(not any(file.added for file in files)),
    }
    found |= of_hunks(file.change for file in files)
    for mark, side in (("+", "added"), ("-", "removed")):
        lines = (line.text for file in files for line in lines_of(file.change) if line.mark == mark)
        texts = list(islice(lines, _LINES))
        if texts:
            found[f"comments {side}, share"] = sum(text.lstrip().startswith(COMMENT) for text in texts) / len(texts)
        for name, word in _WORDS.items():
            hits = sum(bool(word.search(text)) for text in texts)
            if hits:
                found[f"{name} {side}"] = 1.0
                found[f"{name} {side}, share"] = hits / len(texts)
    return found


def _comments(file: FileFacts) -> bool:
    return file.comments_only


def _blanks(file: FileFacts) -> bool:
    return file.blanks_only


_NAMED = {
    "names a lint setting": re.compile(r"eslint|prettier|rustfmt|clippy|ruff|flake8|golangci|biome|editorconfig"),
    "names a workflow": re.compile(r"(^|/)\.github/workflows/"),
    "names a lock file": re.compile(r"(-lock\.|\.lock$|go\.sum$)"),
    "names a package manifest": re.compile(r"(^|/)(package\.json|Cargo\.toml|pyproject\.toml|go\.mod)$"),
    "names a changelog": re.compile(r"(^|/)(CHANGELOG|CHANGES)|\.changeset/", re.IGNORECASE),
    "names a readme": re.compile(r"(^|/)README", re.IGNORECASE),
    "names a tool script": re.compile(r"^(scripts?|tools?|hack)/"),
    "names a benchmark": re.compile(r"bench", re.IGNORECASE),
    "names git's own": re.compile(r"(^|/)\.git(ignore|attributes|modules)$|\.github/(?!workflows)"),
    "names types": re.compile(r"\.d\.ts$|(^|/)types?(\.|/)"),
    "names a style sheet": re.compile(r"\.(css|scss|less|sass)$"),
}  # fmt: skip


_OWN_VERSION = re.compile(r"""\s*["']?_{0,2}version_{0,2}["']?\s*[:=]\s*["']?v?\d+\.\d+""", re.IGNORECASE)
_FOR_DEVELOPERS = re.compile(r"dev-?dependencies|\[dev|group\.dev|\btest|require-dev", re.IGNORECASE)


def _in_other_files(files: tuple[FileFacts, ...]) -> set[str]:
    found = set[str]()
    for file in files:
        hunks = file.change.hunks[:_HUNKS]
        if is_note(file.change.path):
            found.add("new note on the change" if file.change.kind is ChangeKind.ADDED else "notes on changes")
        if file.kind is PathKind.DEPENDENCIES and any(
            _FOR_DEVELOPERS.search(text)
            for hunk in hunks
            for text in (hunk.heading, *(line.text for line in hunk.lines))
        ):
            found.add("dependencies for developers")
        for old, new in chain.from_iterable(map(replaced, hunks)):
            if _OWN_VERSION.match(old) and _OWN_VERSION.match(new):
                found.add("own version")
            words = differing_words(old, new) if file.kind is not PathKind.SOURCE else []
            if words and all(is_typo(*pair) for pair in words):
                found.add("typo outside of source")
            if words and all(each.isdigit() for pair in words for each in pair):
                found.add("numbers changed outside of source")
    return found


def _noted(files: tuple[FileFacts, ...]) -> Iterator[str]:
    """What the notes state; nothing if the change has only notes and other documentation, because such a change is
    about these texts."""
    others = any(file.kind is not PathKind.DOCS and not is_note(file.change.path) for file in files)
    if others and (kind := noted_kind(file.change for file in files)):
        yield f"noted as {kind}"


def _names(files: tuple[FileFacts, ...]) -> list[str]:
    return [name for name, pattern in _NAMED.items() if any(pattern.search(file.change.path) for file in files)]
