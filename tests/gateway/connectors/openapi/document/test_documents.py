"""The bytes of a document become data, or an error that says what they are and what to do."""

import orjson
import pytest

from gateway.connectors.openapi.document import documents, yaml_documents
from gateway.connectors.openapi.document.documents import DocumentError

YAML = """
openapi: 3.1.0
info: {title: Shop, version: 1.0}
paths:
  /on:
    get:
      responses:
        200: {description: It is on.}
      x-since: 2024-01-31
      x-country: [NO, yes, 010, 0x1F, 1e3, .5, ~, "12", !!str 7]
"""


def refused(data: bytes) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        documents.parse(data)
    assert caught.value.suggestion
    assert "3.0 or 3.1" in caught.value.expected
    return caught.value


def test_json_and_yaml_are_read_alike():
    document = {"openapi": "3.0.0", "info": {"title": "A"}, "paths": {"/a": {"get": {"responses": {"200": {}}}}}}
    as_yaml = "openapi: '3.0.0'\ninfo: {title: A}\npaths:\n  /a:\n    get:\n      responses: {200: {}}\n"
    assert documents.parse(orjson.dumps(document)) == documents.parse(as_yaml.encode()) == document


def test_yaml_keys_are_texts_and_its_values_those_of_json():
    node = documents.parse(YAML.encode())["paths"]["/on"]["get"]
    assert list(node["responses"]) == ["200"]
    assert node["x-since"] == "2024-01-31"
    assert node["x-country"] == ["NO", "yes", 10, "0x1F", 1000.0, 0.5, None, "12", "7"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_document_in_another_unicode_is_read(encoding):
    text = '{"openapi": "3.0.0", "info": {"title": "Ö静"}}'
    assert documents.parse(text.encode(encoding))["info"]["title"] == "Ö静"


def test_aliases_and_merges_are_followed():
    text = "openapi: 3.0.0\nx-a: &a {one: 1, two: 2}\nx-b: {<<: *a, two: 3}\nx-c: *a\nx-d: {<<: [*a, {four: 4}]}\n"
    document = documents.parse(text.encode())
    assert document["x-b"] == {"one": 1, "two": 3}
    assert document["x-c"] == {"one": 1, "two": 2}
    assert document["x-d"] == {"one": 1, "two": 2, "four": 4}


def test_aliases_that_would_repeat_without_measure_are_refused():
    laughs = ["openapi: 3.0.0", "x0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    laughs += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "aliases repeat" in refused("\n".join(laughs).encode()).message


def test_merges_count_as_what_they_repeat():
    lines = ["openapi: 3.0.0", "x0: &x0 {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}"]
    lines += [f"y{n}: {{<<: *x0}}" for n in range(2000)]
    assert "aliases repeat" in refused("\n".join(lines).encode()).message


@pytest.mark.parametrize(
    ("data", "reason", "words"),
    [
        (b"", "empty_document", "empty"),
        (b" \n\t ", "empty_document", "empty"),
        (b"<!DOCTYPE html><html><body>Docs</body></html>", "not_openapi", "an HTML page"),
        (b"<?xml version='1.0'?><wadl/>", "not_openapi", "XML"),
        (b"[1, 2]", "not_openapi", "a list"),
        (b"just words", "not_openapi", "one line of text"),
        (b"42", "not_openapi", "a single value"),
        (b'{"swagger": "2.0", "paths": {}}', "swagger_2", "Swagger 2.0"),
        (b"swagger: '2.0'", "swagger_2", "Swagger 2.0"),
        (b'{"asyncapi": "2.6.0"}', "not_openapi", "AsyncAPI"),
        (b'{"info": {}, "item": []}', "not_openapi", "Postman"),
        (b'{"hello": 1}', "not_openapi", "has no openapi: 3.x"),
        (b'{"openapi": "4.0.0"}', "unknown_version", "OpenAPI 4.0.0"),
        (b'{"openapi": "3.0.0",}', "invalid_json", "line 1, column 2"),
        (b"openapi: 3.0.0\ninfo:\n  title: [a\npaths: {}\n", "invalid_yaml", "in line 4"),
        (b"openapi: 3.0.0\nx: *nobody\n", "invalid_yaml", "in line 2"),
        (b"openapi: 3.0.0\nx: &a [*a]\n", "invalid_yaml", "in line 2"),
        (b"openapi: 3.0.0\nx: {[1]: 2}\n", "invalid_yaml", "a key is a mapping or a list"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe\xff", "not_text", "not text"),
        (b'{"openapi": "3.0.0", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", "invalid_json", "nested"),
        (b"openapi: 3.0.0\nx: " + b"[" * 5000 + b"]" * 5000, "invalid_yaml", "nested"),
    ],
)
def test_what_is_no_openapi_3_is_refused_and_named(data, reason, words):
    error = refused(data)
    assert error.reason == reason
    assert words in error.message


def test_swagger_2_is_told_how_to_be_converted():
    suggestion = refused(b'{"swagger": "2.0"}').suggestion
    assert "npx swagger2openapi --patch -o openapi.json" in suggestion  # without --patch it rejects Slack's, for one


def test_a_document_of_more_than_40_mb_is_refused(settings):
    settings.LARGEST_DOCUMENT = 100
    assert refused(b'{"openapi": "3.0.0"}' + b" " * 100).reason == "document_too_large"


def test_numbers_that_no_float_can_hold_stay_texts():
    assert yaml_documents.load("a: 1e999\nb: 123456789012345678901234567890\n")["a"] == "1e999"
