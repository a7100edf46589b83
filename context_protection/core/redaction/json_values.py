"""Redacts JSON values: fields by their names, name/value pairs by their labels, texts by their content."""

import re
from collections.abc import Iterable
from typing import Any

import orjson

from context_protection.core.inference.names import word_set
from context_protection.core.redaction import pairs
from context_protection.core.redaction.codes import is_plain_code
from context_protection.core.redaction.findings import MARK, Finding, mark
from context_protection.core.redaction.folding import compact, folded
from context_protection.core.redaction.names import holder_below, label_kind, place_kind
from context_protection.core.redaction.objects import ObjectField, fields_of
from context_protection.core.redaction.prose import redact_text

Path = tuple[Any, ...]  # (path of the parent, key), or () at the root; a linked list, so that no path is copied
_SCHEMA = word_set(
    """
    type $ref description format title nullable readOnly writeOnly deprecated minLength maxLength pattern items
    required properties additionalProperties allOf anyOf oneOf
    """
)
_TYPES = word_set("string number integer boolean array object null")
_DIGIT_OR_QUOTE = re.compile(r"""[0-9０-９"'„“”«»‘’‚‛]""")
_LETTERS = re.compile(r"[^\W\d_]{3}")
_DIVIDER = re.compile("[ :=>\n\t\u00a0]")
_SHORTEST = 5  # characters of a text that may hold a secret
ONE_WORD = frozenset({"token", "API key"})  # kinds of secrets without spaces, but for a scheme such as Bearer
_WORD = re.compile(r"[^\W\d_]{1,20}[.,:;!?'’-]?")
SHORT_TEXT = 64  # characters; texts up to this length are cached if they are harmless
MAX_HARMLESS = 8192  # cached texts
LONGEST_VALUE = 200  # characters; a longer text under a secret's title is searched, not redacted whole


def redact(value: Any, reveal: frozenset[str] = frozenset()) -> tuple[Any, list[Finding]]:
    """The redacted JSON value, and what was redacted. Returns the same object if nothing is found; the input is never
    changed.

    The text `[withheld: <kind>]` replaces a field with a secret's name, or the value of a pair with such a label, with
    everything below it. Null, empty values, true and false are never redacted. Other texts are redacted by redact_text.
    `reveal`: names, labels or dotted paths (without list positions) that are not redacted, with everything below.
    """
    search = _SecretSearch(reveal)
    search.run(value)
    if not search.changes:
        return value, []
    return _changed(value, search.changes), [finding for _, _, finding in search.changes]


class _SecretSearch:
    """Traverses a value with an explicit stack: upstreams may nest deeper than Python's recursion limit."""

    def __init__(self, reveal: Iterable[str]) -> None:
        self.revealed = frozenset(".".join(map(compact, name.split("."))) for name in reveal)
        self.changes: list[tuple[tuple[str | int, ...], Any, Finding]] = []
        self.stack: list[tuple[Any, Path, str, bool]] = []  # value, path, holder, under custom fields

    def run(self, value: Any) -> None:
        self.stack.append((value, (), "", False))
        while self.stack:
            node, path, within, custom = self.stack.pop()
            if isinstance(node, dict):
                self._object(node, path, within, custom)
            elif isinstance(node, list):
                self._list(node, path, within, custom)
            elif isinstance(node, str):
                self._text(node, path, _name_at(path))

    def _object(self, node: dict[str, Any], path: Path, within: str, custom: bool) -> None:
        fields = fields_of(tuple(node), within=within, custom=custom)
        masked = self._pair(node, path, fields.values) if fields.values else ()
        if fields.may_be_table:
            self._table(node, path)
        for (name, below), field in zip(node.items(), fields.each, strict=True):
            if not field.is_named:  # most fields of most records
                if isinstance(below, str):
                    if len(below) < _SHORTEST or not _may_hold_secret(below):
                        continue
                elif not isinstance(below, (dict, list)):
                    continue
            if below is None or below is True or below is False or below == "" or name in masked:
                continue
            opens = field.opens
            if self.revealed and self._is_revealed(name, path):
                continue
            if opens is not None and _holds_code(below):
                self._change((path, name), mark(opens), name, opens, "field")
                continue
            self._field(below, (path, name), within, field)

    def _field(self, value: Any, path: Path, within: str, field: ObjectField) -> None:
        name = path[1]
        if field.kind is not None and not _is_schema(value):
            self._mask(value, path, name, field.kind, "field")
        elif isinstance(value, str):
            self._labelled(value, path, name, "field")
        elif isinstance(value, (dict, list)):
            self.stack.append((value, path, holder_below(within, name), field.is_custom))
        elif field.is_place and isinstance(value, int):
            self._labelled(str(value), path, name, "field")

    def _list(self, node: list[Any], path: Path, within: str, custom: bool) -> None:
        if (
            len(node) == 2
            and isinstance(node[0], str)
            and isinstance(node[1], (str, int))
            and not isinstance(node[1], bool)
        ):
            label = node[0]
            is_label = len(label) <= pairs.LONGEST_LABEL and not self._is_revealed(label, path)
            if is_label and self._labelled(str(node[1]), (path, 1), label, "pair"):
                self._text(label, (path, 0), _name_at(path))  # the label may be a sentence that contains a code itself
                return
        for at, below in enumerate(node):
            if isinstance(below, (dict, list)) or (isinstance(below, str) and _may_hold_secret(below)):
                self.stack.append((below, (path, at), within, custom))

    def _pair(self, node: dict[str, Any], path: Path, values: tuple[str, ...]) -> set[str]:
        """Redacts the values of a name/value pair; returns the names of the fields that are done."""
        done: set[str] = set()
        for label in pairs.labels_of(node):
            if len(label) > pairs.LONGEST_LABEL:
                continue
            if self.revealed and self._is_revealed(label, path):
                return set(values)
            kind = label_kind(label)
            for name in values:
                below = node[name]
                if name in done or below is None or isinstance(below, bool) or below in ("", [], {}):
                    continue
                if kind is not None and not _is_prose(below, name, kind):
                    self._mask(below, (path, name), label, kind, "pair")
                    done.add(name)
                elif isinstance(below, (str, int)) and self._labelled(str(below), (path, name), label, "pair"):
                    done.add(name)
        return done

    def _table(self, node: dict[str, Any], path: Path) -> None:
        """Redacts the cells of columns with secrets' names. The stack still has the rows, for other secrets."""
        table = pairs.columns_of(node)
        if table is None:
            return
        names, rows = table
        for column, name in enumerate(names):
            if not name or self._is_revealed(name, path):
                continue
            kind = label_kind(name)
            for at, row in enumerate(node[rows]):
                if not isinstance(row, list) or column >= len(row):
                    continue
                cell, place = row[column], (((path, rows), at), column)
                if kind is not None:
                    self._mask(cell, place, name, kind, "pair")
                elif isinstance(cell, (str, int)) and not isinstance(cell, bool):
                    self._labelled(str(cell), place, name, "pair")

    def _mask(self, value: Any, path: Path, name: str, kind: str, how: Any) -> None:
        if value is None or isinstance(value, bool) or value in ("", [], {}):
            return
        if isinstance(value, str) and MARK.fullmatch(value):
            return
        self._change(path, mark(kind), name, kind, how)

    def _labelled(self, value: str, path: Path, label: str, how: Any) -> bool:
        """Searches the line `label: value` if the label names a place, else the value alone. Returns whether something
        was redacted."""
        kind = place_kind(label) or (label_kind(label) if how == "pair" else None)
        if kind is None:
            return self._text(value, path, label)
        if is_plain_code(folded(value.strip())):
            self._change(path, mark(kind), label, kind, how)
            return True
        line = f"{label}: "
        redacted, kinds = redact_text(line + value)
        if not redacted.startswith(line):
            return self._text(value, path, label)
        for each in kinds:
            self._change(path, redacted[len(line) :], label, each, how)
        return bool(kinds)

    def _text(self, value: str, path: Path, name: str) -> bool:
        redacted, kinds = self._document(value) or self._prose(value)
        for kind in kinds:
            self._change(path, redacted, name, kind, "text")
        return bool(kinds)

    def _prose(self, value: str) -> tuple[str, tuple[str, ...]]:
        if not _may_have_labelled_value(value):
            return value, ()
        if len(value) > SHORT_TEXT:
            return redact_text(value)
        if value in _harmless:
            return value, ()
        redacted, kinds = redact_text(value)
        if not kinds:
            if len(_harmless) >= MAX_HARMLESS:
                _harmless.clear()
            _harmless.add(value)
        return redacted, kinds

    def _document(self, value: str) -> tuple[str, tuple[str, ...]] | None:
        """A text that is itself a JSON object or list, redacted as such; None for any other text."""
        if value[:1] + value[-1:] not in ("{}", "[]"):
            return None
        try:
            document = orjson.loads(value)
        except ValueError:
            return None
        redacted, findings = redact(document, self.revealed)
        return orjson.dumps(redacted).decode() if findings else value, tuple(found.kind for found in findings)

    def _change(self, path: Path, new: Any, name: str, kind: str, how: Any) -> None:
        keys = _keys(path)
        self.changes.append((keys, new, Finding(keys, name, kind, how)))

    def _is_revealed(self, name: str, path: Path) -> bool:
        if not self.revealed:
            return False
        folded = compact(name)
        if folded in self.revealed:
            return True
        above = [compact(key) for key in _keys(path) if isinstance(key, str)]
        return ".".join((*above, folded)) in self.revealed


# The rows of a list have many short texts in common. Only texts without a secret are cached.
_harmless: set[str] = set()


def _may_hold_secret(value: str) -> bool:
    """A cheap test whether a text may hold a secret: most texts of a record are ids, dates and words."""
    return _may_have_labelled_value(value) or value[:1] in ("{", "[")


def _is_prose(value: Any, name: str, kind: str) -> bool:
    """Whether the value of a pair is a text about its label, such as the `detail` of an error's `code`."""
    if not isinstance(value, str):
        return False
    return len(value) > LONGEST_VALUE or name == "description" or (kind in ONE_WORD and _is_sentence(value))


def _is_sentence(value: str) -> bool:
    """Whether the text consists of at least three words, none of which could be a token."""
    words = value.split()
    return len(words) >= 3 and all(_WORD.fullmatch(word) for word in words)


def _may_have_labelled_value(value: str) -> bool:
    """Whether the text may hold a name with its value."""
    return bool(_DIVIDER.search(value) and _DIGIT_OR_QUOTE.search(value) and _LETTERS.search(value))


def _holds_code(value: Any) -> bool:
    """Whether the value, or one below it, looks like the code of a lock."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list)):
            waiting += each.values() if isinstance(each, dict) else each
        elif isinstance(each, (str, int)) and not isinstance(each, bool) and is_plain_code(folded(str(each).strip())):
            return True
    return False


def _name_at(path: Path) -> str:
    """The name of the field that holds a text, or the list around the text."""
    while path:
        path, key = path
        if isinstance(key, str):
            return key
    return ""


def _keys(path: Path) -> tuple[str | int, ...]:
    keys = []
    while path:
        path, key = path
        keys.append(key)
    return tuple(reversed(keys))


def _is_schema(value: Any) -> bool:
    """Whether the value is a JSON Schema, as in an OpenAPI document: it describes a field and is not its value."""
    if not isinstance(value, dict) or not _SCHEMA.issuperset(value):
        return False
    types = value.get("type")
    types = types if isinstance(types, list) else [types]
    return "$ref" in value or (bool(types) and all(isinstance(each, str) and each in _TYPES for each in types))


def _changed(value: Any, changes: list[tuple[tuple[str | int, ...], Any, Finding]]) -> Any:
    """A copy with the changes; parts without changes are shared with the original. If two changes meet, as in a table's
    row that reads like a pair, the one that redacts the whole value wins."""
    masked: set[tuple[str | int, ...]] = set()
    copies: dict[tuple[str | int, ...], Any] = {}
    root: list[Any] = [value]
    for keys, new, _ in changes:
        parent: Any = root
        at: str | int = 0
        for depth, key in enumerate(keys):
            here = keys[:depth]
            if here in masked:
                break
            if here not in copies:
                copies[here] = parent[at] = parent[at].copy()
            parent, at = copies[here], key
        else:
            if keys not in masked:
                parent[at] = new
                if MARK.fullmatch(new):
                    masked.add(keys)
    return root[0]
