"""Example values are valid under their schema."""

from typing import Any

import jsonschema_rs
import pytest

from gateway.catalog.examples import example


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 3},
        {"type": "string", "format": "date"},
        {"type": "integer", "minimum": 7},
        {"type": "integer", "maximum": -1},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5},
        {"type": "integer", "exclusiveMaximum": 0},
        {"type": "integer", "minimum": 7, "multipleOf": 5},
        {"type": "string", "maxLength": 0},
        {"type": "string", "pattern": "^-?(id|name)$"},
        {"type": "string", "format": "ipv4"},
        {"type": "number", "default": 2.5},
        {"enum": ["a", "b"]},
        {"const": 4},
        {"type": ["string", "null"]},
        {"type": "boolean"},
        {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string"}]},
        {"type": "array", "items": {"type": "integer", "minimum": 2}, "minItems": 2},
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
        {},
    ],
)
def test_an_example_value_is_one_that_its_schema_allows(schema: dict[str, Any]):
    jsonschema_rs.validate(schema, example(schema))
