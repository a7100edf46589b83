"""Reads untrusted YAML and JSON within strict limits. Each value comes with its line.

Anchors, aliases, tags and repeated keys are rejected, so a document can neither grow while it is read, nor create
objects, nor hide a value behind another.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import yaml

MOST_BYTES = 1024 * 1024
DEEPEST = 8
MOST_VALUES = 20_000
YAML, JSON = (".yaml", ".yml"), (".json",)
_PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null")}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_constructor = yaml.constructor.SafeConstructor()
_UNPRINTABLE = yaml.reader.Reader.NON_PRINTABLE  # the characters that YAML does not allow
# Characters of JSON that mean something else in YAML: it does not indent by tabs, and ends lines at the other three.
_AS_YAML = str.maketrans({"\t": " ", "\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"})
# An escape in a string of JSON. Group 1: one that YAML does not know, a pair for a character above U+FFFF.
_ESCAPE = re.compile(r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|.)")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """`line`: counted from 1; None if no single line is wrong. `key`: the path of the value, or "" for the whole
    file."""

    line: int | None
    key: str
    sentence: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.sentence}" if self.line is not None else self.sentence


class InvalidDocument(Exception):
    def __init__(self, problem: FileProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Located:
    """A value and its line: a scalar, an object of Located by name, or a list of Located."""

    value: Any
    line: int


def parsed(content: bytes, ending: str) -> Located:
    """The document. `ending`: the end of the file's name, such as `.yaml`. Raises InvalidDocument."""
    text = _text(content)
    if ending in JSON:
        _check_json(text)
        text = text.translate(_AS_YAML)
        text = _ESCAPE.sub(lambda escape: json.loads(f'"{escape[0]}"') if escape[1] else escape[0], text)
    elif ending not in YAML:
        raise _invalid(None, f"The name must end in {', '.join((*YAML, *JSON))}; it ends in {ending or 'nothing'}.")
    elif not text.endswith("\n"):
        raise _invalid(
            text.count("\n") + 1, "The last line does not end: the file may be half-written. End it with a line break."
        )
    return _Reader(text, is_json=ending in JSON).document()


def _text(content: bytes) -> str:
    if len(content) > MOST_BYTES:
        raise _invalid(None, f"The file has more than {MOST_BYTES // 1024:,} KB. Remove what is not needed.")
    if not content.strip():
        raise _invalid(None, "The file is empty: it may be half-written. To set nothing, write {}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _invalid(_line_at(content[: error.start]), "The file is not UTF-8 text.") from None
    if "\0" in text:
        raise _invalid(_line_at(content.partition(b"\0")[0]), "The file is binary, not text.")
    if found := _UNPRINTABLE.search(text):
        raise _invalid(text.count("\n", 0, found.start()) + 1, f"The character {found[0]!r} is not allowed.")
    return text


def _check_json(text: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise _invalid(error.lineno, f"This is not JSON: {error.msg[:1].lower()}{error.msg[1:]}.") from None
    except (RecursionError, ValueError):
        raise _invalid(
            None, f"Objects are nested too deeply, or a number is too long; at most {DEEPEST} levels."
        ) from None


def _line_at(content: bytes) -> int:
    return content.count(b"\n") + 1


def _line_of(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _invalid(line: int | None, sentence: str, key: str = "") -> InvalidDocument:
    return InvalidDocument(FileProblem(line, key, sentence))


class _Reader:
    def __init__(self, text: str, *, is_json: bool) -> None:
        self._is_json = is_json
        self._events = _Loader(text)
        self._values = 0

    def document(self) -> Located:
        try:
            self._next(yaml.StreamStartEvent)
            if self._events.check_event(yaml.StreamEndEvent):
                raise _invalid(None, "The file has no values. To set nothing, write {}.")
            self._next(yaml.DocumentStartEvent)
            whole = self._value("", 1)
            self._next(yaml.DocumentEndEvent)
            self._next(yaml.StreamEndEvent)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            what = " ".join(filter(None, (error.context, error.problem)))
            raise _invalid(mark.line + 1 if mark else None, f"This is not YAML: {what}.") from None
        finally:
            self._events.dispose()
        return whole

    def _next(self, expected: type[yaml.Event]) -> yaml.Event:
        event = self._events.get_event()
        if not isinstance(event, expected):
            raise _invalid(_line_of(event), "The file must have one document.")
        return event

    def _value(self, key: str, depth: int) -> Located:
        event = self._event(key, depth)
        line = _line_of(event)
        if isinstance(event, yaml.MappingStartEvent):
            return Located(self._members(key, depth), line)
        if isinstance(event, yaml.SequenceStartEvent):
            return Located(self._entries(key, depth), line)
        return Located(self._scalar(event, key), line)

    def _event(self, key: str, depth: int) -> Any:
        """The event with which a value or a name begins."""
        event = self._events.get_event()
        line = _line_of(event)
        self._values += 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _invalid(line, "Anchors (&) and aliases (*) are not allowed. Write the values out.", key)
        if getattr(event, "tag", None) not in (None, "!"):
            raise _invalid(line, f"The tag {event.tag} is not allowed. Write a plain value.", key)
        if self._values > MOST_VALUES:
            raise _invalid(line, f"The file has more than {MOST_VALUES:,} values.", key)
        if depth > DEEPEST:
            raise _invalid(line, f"Objects are nested more than {DEEPEST} levels deep.", key)
        return event

    def _members(self, above: str, depth: int) -> dict[str, Located]:
        members: dict[str, Located] = {}
        while not self._events.check_event(yaml.MappingEndEvent):
            event = self._event(above, depth + 1)
            line = _line_of(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise _invalid(line, "A name must be a text.", above)
            name = event.value  # as it is written: 007 and no are names, not a number and a boolean
            path = f"{above}.{name}" if above else name
            if name in members:
                raise _invalid(line, f"{path} occurs twice; first in line {members[name].line}.", path)
            members[name] = Located(self._value(path, depth + 1).value, line)
        self._events.get_event()
        return members

    def _entries(self, above: str, depth: int) -> list[Located]:
        entries: list[Located] = []
        while not self._events.check_event(yaml.SequenceEndEvent):
            entries.append(self._value(f"{above}[{len(entries)}]", depth + 1))
        self._events.get_event()
        return entries

    def _scalar(self, event: Any, key: str) -> Any:
        if self._is_json:  # an empty value comes before an error in the syntax of YAML
            return json.loads(event.value or "null") if event.implicit[0] else event.value
        tag = self._events.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag not in _PLAIN or re.fullmatch(r"[-+\d_]+(:\d+)+(\.\d*)?", event.value):
            return event.value
        try:
            return _constructor.construct_object(yaml.ScalarNode(tag, event.value))
        except ValueError:
            raise _invalid(_line_of(event), f"{key} has a number that cannot be read.", key) from None
