"""A form for the arguments of a tool, from their JSON Schema."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from context_protection.core.policy import Policy
from gateway.catalog.operation import Operation

PREFIX = "argument-"
AS_JSON = "json"
LONG = frozenset({"object", "array"})
YES_OR_NO = ("true", "false")


class UnreadableArguments(ValueError):
    """Text that is not JSON where JSON is needed. The message names the argument."""


@dataclass(frozen=True, slots=True)
class ArgumentField:
    """`choices`: the values of an enumeration; empty for a text. `is_long`: several lines of JSON."""

    name: str
    type: str
    help: str
    is_required: bool
    text: str = ""
    placeholder: str = ""
    choices: Sequence[str] = ()
    is_long: bool = False

    @property
    def id(self) -> str:
        return f"{PREFIX}{self.name}"

    @property
    def input_type(self) -> str:
        return "number" if self.type == "integer" else "text"


def fields_of(operation: Operation, policy: Policy, given: QueryDict | None = None) -> list[ArgumentField]:
    """The fields for the tool's arguments, the required ones first."""
    schema = operation.schema(policy)
    required = frozenset(schema.get("required", ()))
    texts = QueryDict() if given is None else given
    fields = [
        _field(name, each, is_required=name in required, text=texts.get(f"{PREFIX}{name}", ""))
        for name, each in schema["properties"].items()
    ]
    return sorted(fields, key=lambda field: not field.is_required)


def _field(name: str, schema: Mapping[str, Any], *, is_required: bool, text: str) -> ArgumentField:
    kind = _type(schema)
    choices = tuple(str(each) for each in schema.get("enum", ()) if each is not None)
    return ArgumentField(
        name=name,
        type=kind,
        help=schema.get("description", ""),
        is_required=is_required,
        text=text,
        placeholder=_example(schema),
        choices=YES_OR_NO if kind == "boolean" else choices,
        is_long=kind in LONG,
    )


def _type(schema: Mapping[str, Any]) -> str:
    """The first type that is not null; string if the schema states no type."""
    kinds = schema.get("type", "string")
    return next((each for each in kinds if each != "null"), "string") if isinstance(kinds, list) else str(kinds)


def _example(schema: Mapping[str, Any]) -> str:
    examples = schema.get("examples") or [schema[name] for name in ("example", "default") if name in schema]
    if not examples:
        return ""
    first = examples[0]
    return first if isinstance(first, str) else json.dumps(first, ensure_ascii=False)


def read(fields: Sequence[ArgumentField], given: QueryDict) -> dict[str, Any]:
    """The arguments from the form's fields, or from its JSON if that is filled in. The tool itself validates them.
    Raises UnreadableArguments."""
    if text := given.get(AS_JSON, "").strip():
        return _object(text)
    texts = {field: given.get(field.id, "").strip() for field in fields}
    return {field.name: _value(field, text) for field, text in texts.items() if text}


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableArguments(f"The arguments are not JSON: {error}. Expected an object such as {{}}.") from None
    if not isinstance(found, dict):
        raise UnreadableArguments("The arguments are not a JSON object. Expected names and values such as {}.")
    return found


def _value(field: ArgumentField, text: str) -> Any:
    """The text as a number or a boolean, if the field has that type and the text can be read as such; otherwise the
    text, which the tool then rejects with an explanation."""
    if field.is_long:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableArguments(f"{field.name} is not JSON: {error}.") from None
    if field.type == "boolean" and text in YES_OR_NO:
        return text == "true"
    if field.type in ("integer", "number"):
        try:
            return int(text) if field.type == "integer" else float(text)
        except ValueError:
            return text
    return text
