"""Redacts JSON values: fields by their names, name/value pairs by their labels, texts by their content."""

import re
from collections.abc import Collection, Iterable, Sequence, Set
from itertools import compress, repeat
from operator import is_
from typing import Any

import orjson

from context_protection.core.name_words import word_set
from context_protection.core.redaction import harmless, pairs
from context_protection.core.redaction.changes import Keys, with_changes
from context_protection.core.redaction.codes import is_plain_code
from context_protection.core.redaction.findings import MARK, Finding, mark
from context_protection.core.redaction.folding import fold_keeping_length
from context_protection.core.redaction.harmless import SHORTEST, SearchedTexts, may_hold_secret
from context_protection.core.redaction.names import holder_below, label_kind, place_kind
from context_protection.core.redaction.objects import (
    EXAMINABLE,
    NESTED,
    SCALARS_AND_TEXTS,
    Fields,
    ObjectField,
    fields_of,
    holder_of,
)
from context_protection.core.redaction.prose import redact_text
from context_protection.core.redaction.screening import suspects
from context_protection.core.redaction.visibility import POLICY, STANDARD, Visibility

Path = tuple[Any, ...]  # (path of the parent, key), or () at the root; a linked list, so that no path is copied
# Value, path, holder, under custom fields, and the places of the fields to search; None: the whole value.
_Waiting = tuple[Any, Path, str, bool, Set[int] | None]
_SCHEMA = word_set(
    """
    type $ref description format title nullable readOnly writeOnly deprecated minLength maxLength pattern items
    required properties additionalProperties allOf anyOf oneOf
    """
)
_TYPES = word_set("string number integer boolean array object null")
FEWEST = 4  # elements of a list, or fields of an object, that are screened together
ONE_WORD = frozenset({"token", "API key"})  # kinds of secrets without spaces, except after a scheme such as Bearer
_WORD = re.compile(r"[^\W\d_]{1,20}[.,:;!?'’-]?")
# Labels of an object times values, up to which each label is tried with each value. A usual pair has one of each.
MOST_PAIRS = 100
LONGEST_VALUE = 200  # characters; a longer text under a secret's title is searched, not redacted whole


def redact(value: Any, visibility: Visibility = STANDARD) -> tuple[Any, list[Finding]]:
    """The redacted JSON value, and what was redacted. Returns the same object if nothing is found; the input is never
    changed.

    The text `[withheld: <kind>]` replaces a field with a secret's name, or the value of a pair with such a label, with
    everything below it. Null, empty values, true and false are never redacted. Other texts are redacted by redact_text.
    What the policy withholds is redacted whatever its value is.
    """
    search = _SecretSearch(visibility)
    search.run(value)
    if not search.changes:
        return value, []
    changed = with_changes(value, ((keys, new) for keys, new, _ in search.changes))
    return changed, [finding for _, _, finding in search.changes]


class _SecretSearch:
    """Traverses a value with an explicit stack: upstreams may nest deeper than Python's recursion limit."""

    def __init__(self, visibility: Visibility) -> None:
        self.visibility = visibility
        self.changes: list[tuple[Keys, Any, Finding]] = []
        self.stack: list[_Waiting] = []
        self.texts = SearchedTexts()

    def run(self, value: Any) -> None:
        self.stack.append((value, (), "", False, None))
        while self.stack:
            node, path, within, custom, places = self.stack.pop()
            if places is not None:
                self._some_fields(node, places, path, within, custom)
            elif isinstance(node, dict):
                self._object(node, path, within, custom)
            elif isinstance(node, list):
                self._list(node, path, within, custom)
            elif isinstance(node, str):
                self._text(node, path, _name_at(path))

    def _object(self, node: dict[str, Any], path: Path, within: str, custom: bool) -> None:
        fields, reveal = fields_of(tuple(node), within=within, custom=custom), self.visibility.reveal
        withheld = self._withheld_among(path, node) if self.visibility.withheld else ()
        masked = self._pair(node, path, fields) if fields.values and fields.labels else ()
        if fields.may_be_table:
            self._table(node, path)
        first = len(self.stack)
        kinds = list(map(type, node.values()))
        are_screened = not (withheld or masked or reveal or len(node) < FEWEST) and EXAMINABLE.issuperset(kinds)
        every = zip(node.items(), fields.each, strict=True)
        for (name, below), field in self._examined(node, kinds, fields, custom) if are_screened else every:
            if withheld and name in withheld:
                self._withhold(below, (path, name), name)
                continue
            if not field.is_named:  # most fields of most records
                kind = type(below)
                if kind is str:
                    if len(below) < SHORTEST or below in harmless.known or not may_hold_secret(below):
                        continue
                elif kind in SCALARS_AND_TEXTS:
                    continue
                elif kind in NESTED and not (masked or reveal):
                    self.stack.append((below, (path, name), holder_below(within, name), field.is_custom, None))
                    continue
            if name not in masked:
                self._field(below, (path, name), within, field)
        if len(self.stack) - first >= FEWEST and not (are_screened or self.visibility.withheld):
            self.stack[first:] = self._suspects_among(self.stack[first:])

    def _examined(
        self, node: dict[str, Any], kinds: list[type], fields: Fields, custom: bool
    ) -> Iterable[tuple[tuple[str, Any], ObjectField]]:
        """The fields that have to be looked at one by one, in order. Values of the same type are screened together.
        `kinds`: the types of all values."""
        items, values, places = list(node.items()), list(node.values()), range(len(kinds))
        texts = list(compress(places, map(is_, kinds, repeat(str))))
        nested = set(compress(places, map(NESTED.__contains__, kinds)))
        alike = [] if self.visibility.withheld else sorted(nested & fields.plain)
        found = nested.difference(alike) | fields.named
        of_texts = self.texts.suspects_among(list(map(values.__getitem__, texts)))
        of_alike = suspects(list(map(values.__getitem__, alike)), within="", custom=custom, searched=self.texts)
        found.update(map(texts.__getitem__, of_texts), map(alike.__getitem__, of_alike.every))
        return [(items[at], fields.each[at]) for at in sorted(found)]

    def _suspects_among(self, waiting: Sequence[_Waiting]) -> list[_Waiting]:
        """The values that have to be searched, in order. Fields of an object are often as alike as elements of a
        list."""
        alike: dict[tuple[str, bool], list[int]] = {}
        for at, (_, _, within, custom, _) in enumerate(waiting):
            alike.setdefault((holder_of(within), custom), []).append(at)
        found: list[int] = []
        for (holder, custom), places in alike.items():
            some = [waiting[at][0] for at in places]
            found += (
                [places[at] for at in suspects(some, within=holder, custom=custom, searched=self.texts).every]
                if len(some) >= FEWEST
                else places
            )
        return [waiting[at] for at in sorted(found)]

    def _field(self, value: Any, path: Path, within: str, field: ObjectField) -> None:
        name, opens = path[1], field.opens
        if value is None or value is True or value is False or value == "" or self._is_revealed(name, path[0]):
            return
        if opens is not None and _holds_code(value):
            self._change(path, mark(opens), name, opens, "field")
        elif field.kind is not None and not _is_schema(value):
            self._mask(value, path, name, field.kind, "field")
        elif isinstance(value, str):
            self._labelled(value, path, name, "field")
        elif isinstance(value, (dict, list)):
            self.stack.append((value, path, holder_below(within, name), field.is_custom, None))
        elif field.is_place and isinstance(value, int):
            self._labelled(str(value), path, name, "field")

    def _list(self, node: list[Any], path: Path, within: str, custom: bool) -> None:
        if pairs.may_be_pair(node):
            label = node[0]
            if _is_in_list(path) and self._is_withheld(label, path):
                self._withhold(node[1], (path, 1), label)
                return
            is_label = len(label) <= pairs.LONGEST_LABEL and not self._is_revealed(label, path)
            if is_label and self._labelled(str(node[1]), (path, 1), label, "pair"):
                self._text(label, (path, 0), _name_at(path))  # the label may be a sentence that contains a code itself
                return
        for at, places in self._suspects(node, within, custom):
            below = node[at]
            if may_hold_secret(below) if isinstance(below, str) else isinstance(below, (dict, list)):
                self.stack.append((below, (path, at), within, custom, places))

    def _suspects(self, node: list[Any], within: str, custom: bool) -> Iterable[tuple[int, Set[int] | None]]:
        """The indexes of the elements that have to be searched, in order, and the places of the fields to search in
        each; None: the whole element."""
        if len(node) < FEWEST or self.visibility.withheld:
            return zip(range(len(node)), repeat(None))
        found = suspects(node, within=within, custom=custom, searched=self.texts)
        return ((at, found.fields.get(at)) for at in sorted(found.every))

    def _some_fields(self, node: dict[str, Any], places: Set[int], path: Path, within: str, custom: bool) -> None:
        """Searches the fields at these places of an object that is no name/value pair."""
        items, fields = list(node.items()), fields_of(tuple(node), within=within, custom=custom)
        for at in sorted(places):
            name, value = items[at]
            self._field(value, (path, name), within, fields.each[at])

    def _pair(self, node: dict[str, Any], path: Path, fields: Fields) -> set[str]:
        """Redacts the values of a name/value pair; returns the names of the fields that are done."""
        done: set[str] = set()
        values = fields.values
        labels = [each for each in pairs.labels_of(node, fields.labels) if len(each) <= pairs.LONGEST_LABEL]
        if len(labels) * len(values) > MOST_PAIRS:
            labels = self._representative(labels, path)
        for label in labels:
            if self._is_withheld(label, path):
                for name in values:
                    self._withhold(node[name], (path, name), label)
                return set(values)
            if self._is_revealed(label, path):
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

    def _representative(self, labels: Sequence[str], path: Path) -> list[str]:
        """The first label of each meaning."""
        policy = self.visibility.withheld or self.visibility.reveal
        first: dict[object, str] = {}
        for each in labels:
            by_policy = policy and (self._is_withheld(each, path), self._is_revealed(each, path))
            first.setdefault((place_kind(each), label_kind(each), by_policy), each)
        return list(first.values())

    def _table(self, node: dict[str, Any], path: Path) -> None:
        """Redacts the cells of columns with secrets' names. The rows stay on the stack, to be searched for other
        secrets."""
        table = pairs.columns_of(node)
        if table is None:
            return
        names, rows = table
        for column, name in enumerate(names):
            is_withheld = bool(name) and self._is_withheld(name, path)
            if not name or (self._is_revealed(name, path) and not is_withheld):
                continue
            kind = label_kind(name)
            for at, row in enumerate(node[rows]):
                if not isinstance(row, list) or column >= len(row):
                    continue
                cell, place = row[column], (((path, rows), at), column)
                if is_withheld:
                    self._withhold(cell, place, name)
                elif kind is not None:
                    self._mask(cell, place, name, kind, "pair")
                elif isinstance(cell, (str, int)) and not isinstance(cell, bool):
                    self._labelled(str(cell), place, name, "pair")

    def _mask(self, value: Any, path: Path, name: str, kind: str, how: Any) -> None:
        if value is None or isinstance(value, bool) or value in ("", [], {}):
            return
        if isinstance(value, str) and MARK.fullmatch(value):
            return
        self._change(path, mark(kind), name, kind, how)

    def _withhold(self, value: Any, path: Path, name: str) -> None:
        is_masked = isinstance(value, str) and MARK.fullmatch(value)
        if not is_masked and not _is_schema(value):
            self._change(path, mark(POLICY), name, POLICY, "field")

    def _labelled(self, value: str, path: Path, label: str, how: Any) -> bool:
        """Searches the line `label: value` if the label names a place, else the value alone. Returns whether something
        was redacted."""
        kind = place_kind(label) or (label_kind(label) if how == "pair" else None)
        if kind is None:
            return self._text(value, path, label)
        if is_plain_code(fold_keeping_length(value.strip())):
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
        redacted, kinds = self._document(value) or self.texts.redacted(value)
        for kind in kinds:
            self._change(path, redacted, name, kind, "text")
        return bool(kinds)

    def _document(self, value: str) -> tuple[str, tuple[str, ...]] | None:
        """A text that is itself a JSON object or list, redacted as such; None for any other text."""
        if not harmless.may_be_document(value):
            return None
        try:
            document = orjson.loads(value)
        except ValueError:
            return None
        redacted, findings = redact(document, self.visibility)
        return orjson.dumps(redacted).decode() if findings else value, tuple(found.kind for found in findings)

    def _change(self, path: Path, new: Any, name: str, kind: str, how: Any) -> None:
        keys = _keys(path)
        self.changes.append((keys, new, Finding(keys, name, kind, how)))

    def _is_revealed(self, name: str, path: Path) -> bool:
        return bool(self.visibility.reveal) and self.visibility.reveals([*_names_above(path), name])

    def _withheld_among(self, path: Path, node: dict[str, Any]) -> Collection[str]:
        return self.visibility.withheld_among(tuple(_names_above(path)), tuple(node))

    def _is_withheld(self, name: str, path: Path) -> bool:
        return bool(self.visibility.withheld) and self.visibility.withholds([*_names_above(path), name])


def _is_prose(value: Any, name: str, kind: str) -> bool:
    """Whether the value of a pair is a text about its label, such as the `detail` of an error's `code`."""
    if not isinstance(value, str):
        return False
    return len(value) > LONGEST_VALUE or name == "description" or (kind in ONE_WORD and _is_sentence(value))


def _is_sentence(value: str) -> bool:
    """Whether the text consists of at least three words, none of which could be a token."""
    words = value.split()
    return len(words) >= 3 and all(_WORD.fullmatch(word) for word in words)


def _holds_code(value: Any) -> bool:
    """Whether the value, or one below it, looks like the code of a lock."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list)):
            waiting += each.values() if isinstance(each, dict) else each
        elif (
            isinstance(each, (str, int))
            and not isinstance(each, bool)
            and is_plain_code(fold_keeping_length(str(each).strip()))
        ):
            return True
    return False


def _name_at(path: Path) -> str:
    """The name of the field that holds a text, or the list around the text."""
    while path:
        path, key = path
        if isinstance(key, str):
            return key
    return ""


def _is_in_list(path: Path) -> bool:
    return bool(path) and isinstance(path[1], int)


def _names_above(path: Path) -> list[str]:
    return [key for key in _keys(path) if isinstance(key, str)]


def _keys(path: Path) -> Keys:
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
