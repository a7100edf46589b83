"""Example values for the JSON Schema of an argument."""

from typing import Any

from gateway.catalog.schemas import Schema, choices, kinds

UNKNOWN_TEXT = "…"  # the example for a text without a known format
_BY_KIND: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_BY_FORMAT = {
    "date": "2026-11-20",
    "date-time": "2026-11-20T12:00:00Z",
    "time": "12:00:00Z",
    "email": "name@example.com",
    "uri": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
}


def example(schema: Schema) -> Any:
    """A value that the schema allows. Patterns are not considered, except for those that list choices."""
    for name in ("default", "const"):
        if name in schema:
            return schema[name]
    for values in (schema.get("examples"), choices(schema)):
        if values:
            return values[0]
    for name in ("anyOf", "oneOf"):
        if schema.get(name):
            return example(schema[name][0])
    kind = next(iter(kinds(schema)), "string")
    if kind in {"integer", "number"}:
        return _number(schema)
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: example(properties.get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [example(schema.get("items", {}))] * schema.get("minItems", 0)
    return _BY_KIND.get(kind, _text(schema))


def _number(schema: Schema) -> Any:
    """The number nearest to 1 that the bounds allow."""
    step = schema.get("multipleOf", 1)
    low, high = schema.get("minimum"), schema.get("maximum")
    if (above := schema.get("exclusiveMinimum")) is not None:
        low = above + step if low is None else max(low, above + step)
    if (below := schema.get("exclusiveMaximum")) is not None:
        high = below - step if high is None else min(high, below - step)
    nearest = max(step, -(-low // step) * step) if low is not None else step
    return min(nearest, high // step * step if "multipleOf" in schema else high) if high is not None else nearest


def _text(schema: Schema) -> str:
    text = _BY_FORMAT.get(schema.get("format", ""), UNKNOWN_TEXT).ljust(schema.get("minLength", 0), "…")
    return text[: schema["maxLength"]] if "maxLength" in schema and "format" not in schema else text
