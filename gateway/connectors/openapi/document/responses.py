"""The successful response of an operation: its schema, and the path of its rows."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.policy import Kind
from gateway.catalog.plurals import singular
from gateway.connectors.openapi.document import conventions
from gateway.connectors.openapi.document.kinds import as_mapping, kinds, variants
from gateway.connectors.openapi.document.references import References
from gateway.connectors.openapi.document.schemas import Lean, Leaning
from gateway.connectors.openapi.document.wording import folded, words

SHOWN_LEVELS, SHOWN_NODES = 3, 300
MAX_PROPERTIES = 300  # examined per object
MAX_BESIDE = 6  # unusual fields next to rows; an object with more is a record, regardless of its arrays' names
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json|text/json|\*/\*")
_PLAIN_TEXT = frozenset({"text/plain", "text/markdown", "text/x-markdown"})


@dataclass(frozen=True)
class DocumentedResponse:
    """The documented response: its media types, the schema of its JSON, and its headers in lower case."""

    references: References
    leaning: Leaning
    media_types: tuple[str, ...]
    schema: Any
    headers: frozenset[str]

    @classmethod
    def of(cls, references: References, leaning: Leaning, responses: Any) -> "DocumentedResponse":
        node = _successful(references, responses)
        content = as_mapping(node.get("content"))
        json_type = next((each for each in content if _JSON.fullmatch(_plain(each))), None)
        schema = references.resolved(content[json_type]).get("schema") if json_type else None
        headers = frozenset(str(name).lower() for name in as_mapping(node.get("headers")))
        return cls(references, leaning, tuple(map(_plain, content)), schema, headers)

    @cached_property
    def whole(self) -> Mapping[str, Any]:
        return self.references.merged(self.schema).schema

    @property
    def is_plain_text(self) -> bool:
        return bool(self.media_types) and all(each in _PLAIN_TEXT for each in self.media_types)

    def is_undocumented(self, *, is_paged: bool) -> bool:
        """True if the document does not say whether the response is a list or a record. `is_paged`: see `rows`; if it
        is true, status fields alone, such as `ok`, do not decide it."""
        may_be_json = not self.media_types or any(map(_JSON.fullmatch, self.media_types))
        own = [name for name in self.properties() if not (is_paged and _is_usual_beside_rows(name))]
        tells = own or "additionalProperties" in self.whole or variants(self.whole)
        return may_be_json and not tells and set(kinds(self.whole)) <= {"object"}

    def properties(self, path: str = "") -> dict[str, Any]:
        """The properties of the object at `path`, including those of its variants."""
        schema = self.schema
        for step in filter(None, path.split(".")):
            schema = self.properties_of(schema).get(step)
        return self.properties_of(schema)

    def properties_of(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        found, _ = self.leaning.properties(schema)
        return {str(name): each for name, each in list(found.items())[:MAX_PROPERTIES]}

    def is_boolean(self, schema: Any) -> bool:
        return {*kinds(self._whole(schema))} - {"null"} == {"boolean"}

    def rows(self, path: str, *, is_paged: bool = False) -> str | None:
        """The path of the response's rows; None if it is not a list. `path`: the operation's. `is_paged`: the
        operation has a parameter for a page's position, which only lists have."""
        if self._is_array(self.whole):
            return ""
        own = self.properties()
        if (found := self._rows_among(own, path, is_paged=is_paged)) is not None:
            return found
        for name, schema in own.items():
            below = self.properties_of(schema) if name in conventions.AROUND_ROWS else {}
            if (found := self._rows_among(below, path, is_paged=is_paged)) is not None:
                return f"{name}.{found}"
        return self._rows_of_inner_page(own, path)

    def _is_array(self, schema: Mapping[str, Any]) -> bool:
        """Whether the schema, or each of its variants but null, is an array and cannot be an object."""
        own = kinds(schema)
        possible = [own] if own else [found for each in self._variants(schema) if (found := kinds(each)) != ["null"]]
        return bool(possible) and all("array" in found and "object" not in found for found in possible)

    def _may_be_array(self, schema: Mapping[str, Any]) -> bool:
        return "array" in kinds(schema) or self._is_array(schema)

    def _variants(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return list(map(self._whole, variants(schema)))

    def _rows_among(self, properties: Mapping[str, Any], path: str, *, is_paged: bool = False) -> str | None:
        """The array of rows, recognised by its name, or else because it is the only candidate."""
        arrays = [name for name, schema in properties.items() if self._may_be_array(self._whole(schema))]
        beside = [name for name in properties if name not in arrays and not _is_usual_beside_rows(name)]
        if not _is_envelope(properties, beside, path):
            return None
        is_credible = len(beside) <= MAX_BESIDE
        if is_credible and (is_paged or any(folded(name) in conventions.HAS_MORE for name in properties)):
            return self._likeliest_rows(properties, arrays, path)
        named = _named_as_rows(arrays, path) if is_credible else []
        if named:
            return named[0]
        return None if beside else self._only_rows(properties, arrays)

    def _likeliest_rows(self, properties: Mapping[str, Any], arrays: list[str], path: str) -> str | None:
        """The array of rows in an object that is known to be a list."""
        named = [*_named_as_rows(arrays, path), *_named_as_segments(arrays, path)]
        telling = [name for name in arrays if not _is_usual_beside_rows(name)]
        of_objects = [name for name in telling if self._holds_objects(properties[name])]
        return next(iter([*named, *of_objects, *telling]), None) or self._only_rows(properties, arrays)

    def _rows_of_inner_page(self, own: Mapping[str, Any], path: str) -> str | None:
        """The rows of the only object that is a page itself, such as {"albums": {"items": […], "next": …}}, if nothing
        unusual is beside it."""
        found: list[tuple[str, str]] = []
        for name, schema in own.items():
            below = self.properties_of(schema)
            is_page = name in conventions.MAY_BE_AROUND_ROWS or any(map(_counts, below))
            if is_page and (rows := self._rows_among(below, path)) is not None:
                found.append((name, rows))
        if len(found) != 1 or not all(_is_usual_beside_rows(name) for name in own if name != found[0][0]):
            return None
        return ".".join(found[0])

    def _only_rows(self, properties: Mapping[str, Any], arrays: list[str]) -> str | None:
        """The only array of objects, or else the only array with a name that is unusual next to rows."""
        of_objects = [name for name in arrays if self._holds_objects(properties[name])]
        telling = [name for name in arrays if not _is_usual_beside_rows(name)]
        return next((names[0] for names in (of_objects, telling) if len(names) == 1), None)

    def _holds_objects(self, schema: Any) -> bool:
        return bool(self.properties_of(self._items(schema)))

    def _whole(self, schema: Any) -> Mapping[str, Any]:
        return self.references.merged(schema).schema

    def row_schema(self, rows: str) -> Any:
        """The documented schema of one row."""
        schema = self.schema
        for step in filter(None, rows.split(".")):
            schema = self.properties_of(schema).get(step)
        return self._items(schema)

    def _items(self, schema: Any) -> Any:
        """The schema of an array's elements, from the array itself or else from its first variant that has one."""
        whole = self._whole(schema)
        return next((each["items"] for each in (whole, *self._variants(whole)) if "items" in each), None)

    def kind(self, rows: str | None, *, is_safe: bool) -> Kind:
        if not is_safe:
            return Kind.ACTION
        if rows is not None:
            return Kind.LIST
        return Kind.TEXT if self.is_plain_text else Kind.RECORD


def shown(leaning: Leaning, schema: Any) -> Lean | None:
    """A small response schema without references, from which the fields of rows and previews are proposed."""
    if not isinstance(schema, Mapping) or not schema:
        return None
    depths = range(SHOWN_LEVELS, 1, -1)
    return leaning.lean(schema, next((depth for depth in depths if leaning.size(schema, depth) <= SHOWN_NODES), 1))


def _successful(references: References, responses: Any) -> Mapping[str, Any]:
    """The first 2xx response that has content, or else the first one; `default` if there is no 2xx response."""
    every = {str(code).upper(): node for code, node in as_mapping(responses).items()}
    good = [references.resolved(every[code]) for code in sorted(every) if code.startswith("2")]
    if not good and "DEFAULT" in every:
        good = [references.resolved(every["DEFAULT"])]
    return next((node for node in good if node.get("content")), next(iter(good), {}))


def _is_envelope(properties: Mapping[str, Any], beside: list[str], path: str) -> bool:
    """Whether the object is an envelope around rows. An object with an id is a record; so is one with fields of its own
    (`beside`) at a path that ends with a parameter."""
    ends_with_parameter = path.rstrip("/").endswith("}")
    return "id" not in properties and not (ends_with_parameter and beside)


def _named_as_rows(arrays: list[str], path: str) -> list[str]:
    """The arrays named like the path's last noun, then those with conventional names, the best first."""
    as_path = [name for name in arrays if _singular(name) == _last_noun(path)]
    known = {name.lower(): name for name in reversed(arrays)}
    return [*as_path, *(known[name] for name in conventions.ROWS if name in known)]


def _named_as_segments(arrays: list[str], path: str) -> list[str]:
    """The arrays named like a segment of the path, the last segments first: `audit_log_entries` of /audit-logs."""
    nouns = [_singular(segment) for segment in reversed(path.partition("?")[0].split("/")) if "{" not in segment]
    return [name for noun in nouns for name in arrays if noun and _singular(name)[: len(noun)] == noun]


def _is_usual_beside_rows(name: str) -> bool:
    return set(words(name)) <= conventions.BESIDE_ROWS


def _counts(name: str) -> bool:
    return not conventions.COUNTING.isdisjoint(words(name))


def _plain(media_type: Any) -> str:
    return str(media_type).partition(";")[0].strip().lower()


def _last_noun(path: str) -> list[str]:
    """The words, in the singular, of the path's last segment that is not a placeholder. In "conversations.list", the
    noun is before the dot."""
    segments: Iterator[str] = (each for each in reversed(path.partition("?")[0].split("/")) if each and "{" not in each)
    found = _singular(next(segments, ""))
    return found[:-1] if found[-1:] in (["list"], ["all"], ["json"], ["search"]) and len(found) > 1 else found


def _singular(name: str) -> list[str]:
    return [singular(word) for word in words(name)]
