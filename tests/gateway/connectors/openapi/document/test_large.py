"""A document as large as the largest: its time grows with its size, and every tool of it is valid and lean."""

import time

import orjson

from gateway.connectors.openapi.document import documents, reader, schemas
from tests.gateway.connectors.openapi.documents import large, operation

SECONDS = 60  # of processor time: some 2 s on a quiet machine


def test_a_thousand_operations_with_circular_schemas_are_read_in_seconds():
    data = large(200, 30)
    assert len(data) > 5e6
    begun = time.process_time()
    api = reader.read(documents.parse(data))
    assert time.process_time() - begun < SECONDS
    assert len(api.operations) == 1000
    assert len({each.name for each in api.operations}) == 1000


def test_every_tool_of_it_is_valid_and_lean():
    for each in reader.read(documents.parse(large(20, 40))).operations:
        schema = {"type": "object", "properties": each.parameters}
        assert schemas.is_valid_schema(schema)
        assert str(schema).count("'type'") <= reader.MAX_NODES + 1
        assert "$ref" not in str(each.parameters) + str(each.response)
        assert len(orjson.dumps(each.response)) < 60_000


def test_arguments_that_are_too_many_are_shown_less_deep_and_it_is_said():
    wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(50)}}
    properties = {f"a{n}": wide for n in range(20)}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": properties}}}}
    made = operation({"requestBody": body}, method="post")
    assert made.parameters["a0"] == {"type": "object"}
    assert any("only 0 levels of them are shown" in warning for warning in made.warnings)
