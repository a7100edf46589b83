"""Parses YAML as OpenAPI defines it: the result contains only JSON values.

PyYAML's safe loader reads dates, `no` as false and 010 as 8, and expands aliases without limit. Here keys are strings,
scalars follow YAML 1.2's core schema, and the number of values that aliases add is limited.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

DEEPEST = 200
MAX_ALIASED = 1_000_000  # values that all aliases together may repeat
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_FRACTION = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")
_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE = "<<"


class YamlError(ValueError):
    """`line` counts from 1; 0 if unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


class _Open:
    """A mapping or list whose end has not been read yet."""

    __slots__ = ("anchor", "key", "size", "value")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None) -> None:
        self.value, self.anchor = value, anchor
        self.key: str | None = None
        self.size = 1


def load(text: str) -> Any:
    """The first document in `text`. Raises YamlError."""
    try:
        return _Builder().build(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is not YAML"
        raise YamlError(str(problem), mark.line + 1 if mark else 0) from None


class _Builder:
    """Builds the value from the parser's events, without recursion."""

    def __init__(self) -> None:
        self.result: Any = None
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.aliased = 0

    def build(self, text: str) -> Any:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            match event:
                case yaml.ScalarEvent():
                    self._add(self._scalar(event), event, 1, event.anchor)
                case yaml.MappingStartEvent():
                    self._begin({}, event)
                case yaml.SequenceStartEvent():
                    self._begin([], event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    ended = self.open.pop()
                    self._add(ended.value, event, ended.size, ended.anchor)
                case yaml.AliasEvent():
                    self._add_alias(event)
                case yaml.DocumentEndEvent():
                    break
        return self.result

    def _begin(self, value: dict[str, Any] | list[Any], event: Any) -> None:
        if len(self.open) >= DEEPEST:
            raise YamlError(f"it is nested more than {DEEPEST} levels deep", event.start_mark.line + 1)
        self.open.append(_Open(value, event.anchor))

    def _scalar(self, event: Any) -> Any:
        is_key = bool(self.open) and isinstance(self.open[-1].value, dict) and self.open[-1].key is None
        tagged_text = event.tag is not None and (event.tag == _TEXT_TAG or event.tag == "!")
        return event.value if is_key or tagged_text or not event.implicit[0] else _core_value(event.value)

    def _add_alias(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if event.anchor not in self.anchors:
            raise YamlError(f"the alias *{event.anchor[:40]} refers to an undefined or unfinished value", line)
        value, size = self.anchors[event.anchor]
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            raise YamlError(f"its aliases repeat more than {MAX_ALIASED:,} values", line)
        self._add(value, event, size, None)

    def _add(self, value: Any, event: Any, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, size)
        if not self.open:
            self.result = value
            return
        holder = self.open[-1]
        holder.size += size
        if isinstance(holder.value, list):
            holder.value.append(value)
        elif holder.key is None:
            if isinstance(value, (dict, list)):
                raise YamlError("a key is a mapping or a list", event.start_mark.line + 1)
            holder.key = str(value)
        else:
            _put(holder.value, holder.key, value)
            holder.key = None


def _put(mapping: dict[str, Any], key: str, value: Any) -> None:
    """Sets the value under its key. A merge (<<) only adds keys that the mapping does not have."""
    parts = value if isinstance(value, list) else [value]
    if key != _MERGE or not all(isinstance(part, Mapping) for part in parts):
        mapping[key] = value
        return
    for part in parts:
        for name, each in part.items():
            mapping.setdefault(name, each)


def _core_value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _FRACTION.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text
