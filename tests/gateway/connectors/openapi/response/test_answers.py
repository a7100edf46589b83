"""An answer is read by what it is; nothing of it is lost, and what is not what was promised is said."""

import hashlib
from typing import Any

import orjson
import pytest

from context_protection.core.policy import Kind
from gateway.connectors.openapi.response import answers
from gateway.connectors.openapi.response.answers import Answered
from gateway.upstreams.errors import UpstreamGarbled
from gateway.upstreams.request import Response
from tests.gateway.connectors.openapi.documents import ROW, answering, listing, operation, rows_of

LIST = listing(schema=rows_of("data", total={"type": "integer"}))
RECORD = operation({"responses": answering(ROW)}, "/a/{id}")
TEXT = operation({"responses": {"200": {"content": {"text/plain": {}}}}})
UNKNOWN = listing()


def read(body: Any, made: Any = RECORD, kind: str = "application/json", status: int = 200) -> Answered:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return answers.read(Response(status, {"content-type": kind} if kind else {}, data), made)


def test_rows_are_found_where_the_document_says_and_the_rest_is_kept():
    found = read({"data": [{"id": 1}], "total": 7, "meta": {"a": 1}}, LIST)
    assert found.rows == [{"id": 1}]
    assert found.rest == {"total": 7, "meta": {"a": 1}}
    assert found.body["total"] == 7


@pytest.mark.parametrize(
    ("body", "rows", "rest"),
    [
        ([{"id": 1}], [{"id": 1}], {}),
        ([1, "a", None], [{"value": 1}, {"value": "a"}, {"value": None}], {}),
        ({"things": [{"id": 1}], "ids": [1]}, [{"id": 1}], {"ids": [1]}),
        ({"result": {"items": [{"id": 1}], "n": 1}, "ok": True}, [{"id": 1}], {"result": {"n": 1}, "ok": True}),
        ({"data": None, "total": 0}, [], {"data": None, "total": 0}),
        (None, [], {"value": None}),
        ({"data": []}, [], {}),
        ({"ok": False, "error": "no"}, [], {"ok": False, "error": "no"}),
    ],
)
def test_rows_are_found_also_where_the_document_is_wrong(body, rows, rest):
    found = read(body, LIST)
    assert (found.rows, found.rest) == (rows, rest)


@pytest.mark.parametrize("kind", ["application/octet-stream", "binary/octet-stream"])
def test_documented_json_is_read_although_a_file_server_calls_it_bytes(kind: str):
    assert read({"data": [{"id": 1}]}, LIST, kind).rows == [{"id": 1}]
    assert read(b"\xff{", RECORD, kind).record["bytes"] == 2
    as_either = operation({"responses": {"200": {"content": {"application/json": {}, kind: {}}}}})
    assert read(b"{\xff", as_either, kind).record["bytes"] == 2


@pytest.mark.parametrize("kind", ["application/csv", "text/comma-separated-values"])
def test_a_table_under_another_media_type_is_read(kind: str):
    assert read(b"id,name\n1,A\n", LIST, kind).rows == [{"id": "1", "name": "A"}]


@pytest.mark.parametrize("between", [";", "\t"])
def test_a_table_without_commas_between_its_columns_is_read(between: str):
    table = f'id{between}price{between}note\r\n1{between}2,50{between}"a{between}b"\r\n'
    row = {"id": "1", "price": "2,50", "note": f"a{between}b"}
    assert read(table.encode(), LIST, "text/csv").rows == [row]
    assert read(b"note\r\na;b\r\n", LIST, "text/csv").rows == [{"note": "a;b"}]


@pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1252", "shift_jis", "utf-8", "utf-16"])
def test_xml_is_read_in_the_encoding_of_its_declaration_or_of_the_answer(encoding: str):
    text = "<a>\u3042</a>" if encoding == "shift_jis" else "<a>\xfc</a>"
    declared = f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding)
    expected = {"a": text[3]}
    assert read(text.encode(encoding), kind=f"application/xml; charset={encoding}").record == expected
    assert read(declared, kind="application/xml").record == expected
    if encoding != "utf-16":
        assert read(declared, kind="application/xml; charset=unheard-of").record == expected


def test_xml_that_is_falsely_declared_as_utf_16_is_read():
    made = '<?xml version="1.0" encoding="utf-16"?><a>\xfc</a>'.encode()
    assert read(made, kind="application/xml").record == {"a": "\xfc"}


@pytest.mark.parametrize("encoding", ["unheard-of", "hex", "ascii", "punycode", "IDNA"])
def test_xml_in_an_encoding_that_is_unknown_or_wrong_is_told(encoding: str):
    with pytest.raises(UpstreamGarbled, match="encoding"):
        read(f'<?xml version="1.0" encoding="{encoding}"?><a>\xfc</a>'.encode(), kind="application/xml")


def test_a_record_is_an_object_and_anything_else_the_value_of_one():
    assert read({"id": 1}).record == {"id": 1}
    assert read(b"12").record == {"value": 12}


def test_an_array_has_rows_whatever_its_document_promised():
    said_to_be_a_text = operation({"responses": answering({"type": "string"})})
    assert read([{"id": 1}, 2], said_to_be_a_text).rows == [{"id": 1}, {"value": 2}]
    assert read([{"id": 1}]).rows == [{"id": 1}]


def test_a_text_that_its_server_calls_a_page_is_a_text():
    assert read(b"All is well.\n", TEXT, "text/html").text == "All is well.\n"


def test_json_where_a_text_was_promised_is_read_as_what_it_is():
    assert read([{"id": 1}, 2], TEXT).rows == [{"id": 1}, {"value": 2}]
    assert read("All is well.", TEXT).text == "All is well."
    assert read({"id": 1}, TEXT).record == {"id": 1}


def test_an_empty_answer_says_what_its_status_was():
    assert read(b"", status=204).record == {"httpStatus": 204}
    assert read(b" ", LIST).rows == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_json_is_read_in_any_unicode(encoding):
    assert read('{"a": "Ö静"}'.encode(encoding)).record == {"a": "Ö静"}


@pytest.mark.parametrize("charset", ["punycode", "Puny_code", "idna"])
def test_a_charset_of_domain_names_is_none_of_texts(charset: str):
    """Decoding a megabyte would take hours."""
    assert read(b"bcher-kva", TEXT, f"text/plain; charset={charset}").text == "bcher-kva"


@pytest.mark.parametrize(
    "kind", ["text/plain", "text/plain; charset=us-ascii", "text/plain; charset=utf-8", "text/plain; charset=x"]
)
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("naïve café – 5 €\n".encode("cp1252"), "naïve café – 5 €\n"),
        ("Ünïcödé 静 �".encode(), "Ünïcödé 静 �"),
        ("only � here".encode(), "only � here"),
        ("静かな".encode() + b"\xe9 x", "静かな� x"),
        (b"caf\xe9 \x81", "café �"),
        (b"plain", "plain"),
    ],
)
def test_a_text_that_is_not_utf_8_is_read_as_browsers_do(kind: str, body: bytes, text: str):
    assert read(body, TEXT, kind).text == text


def test_a_table_that_is_not_utf_8_is_read_as_browsers_do():
    (row,) = read("name,city\nZoë,Düren\n".encode("latin-1"), LIST, "text/csv").rows or ()
    assert row == {"name": "Zoë", "city": "Düren"}


def test_json_of_another_charset_is_read_as_its_type_says():
    assert read('{"a": "Ö"}'.encode("latin-1"), kind="application/json; charset=iso-8859-1").record == {"a": "Ö"}
    assert read('{"a": "Ö"}'.encode(), kind="application/json; charset=no-such").record == {"a": "Ö"}


def test_numbers_that_no_float_can_hold_stay_whole():
    assert read(b'{"a": 123456789012345678901234567890, "b": NaN}').record == {
        "a": "123456789012345678901234567890",
        "b": "NaN",
    }


@pytest.mark.parametrize(
    "kind", ["text/plain", "text/html", "", "application/vnd.api+json", "text/json; charset=utf-8"]
)
def test_json_is_json_whatever_it_is_called(kind):
    assert read({"id": 1}, kind=kind).record == {"id": 1}


@pytest.mark.parametrize("kind", ["application/x-ndjson", "application/jsonl"])
def test_lines_of_json_are_rows(kind):
    assert read(b'{"id": 1}\r\n\n{"id": 2}\n', UNKNOWN, kind).rows == [{"id": 1}, {"id": 2}]


def test_xml_is_data():
    body = b"<orders page='1'><order id='7'>text</order><order><line>a</line><line>b</line></order><none/></orders>"
    assert read(body, kind="application/xml").record == {
        "orders": {
            "@page": "1",
            "order": [{"@id": "7", "#text": "text"}, {"line": ["a", "b"]}],
            "none": None,
        }
    }


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a><b></a>",
        b"<a>" * 300 + b"</a>" * 300,
    ],
)
def test_xml_that_declares_or_is_broken_is_refused(body):
    with pytest.raises(UpstreamGarbled, match="XML"):
        read(body, kind="text/xml")


def test_csv_with_a_header_is_rows():
    assert read(b'id,name\r\n1,"a, b"\r\n2,c\r\n', UNKNOWN, "text/csv").rows == [
        {"id": "1", "name": "a, b"},
        {"id": "2", "name": "c"},
    ]


@pytest.mark.parametrize("body", [b"1,2\n3,4\n", b"a,a\n1,2\n", b"a,b\n1\n", b"only a header\n"])
def test_csv_without_a_header_is_a_text(body):
    assert read(body, kind="text/csv").text == body.decode()


def test_a_text_is_a_text_though_it_looks_like_json():
    assert read(b'{"a": 1}', TEXT, "text/plain").text == '{"a": 1}'
    assert read("静".encode("utf-16"), kind="text/markdown").text == "静"


def test_a_page_where_json_was_promised_is_no_answer():
    with pytest.raises(UpstreamGarbled, match="login or an error page"):
        read(b"<html>Sign in</html>", kind="text/html; charset=utf-8")
    with pytest.raises(UpstreamGarbled, match="a page"):
        read(b"<html>Sign in</html>")


def test_a_page_where_a_plain_text_was_promised_is_no_answer():
    with pytest.raises(UpstreamGarbled, match="login or an error page"):
        read(b"\n<!DOCTYPE html><html>Sign in</html>", TEXT, "text/html; charset=utf-8")


def test_a_page_that_was_promised_is_a_text():
    made = operation({"responses": {"200": {"content": {"text/html": {}}}}})
    assert read(b"<html>Hello</html>", made, "text/html").text == "<html>Hello</html>"


@pytest.mark.parametrize("body", [b'{"a": ', b"[" * 200, b'{"a": "\xff"}'])
def test_broken_json_is_said_to_be_and_not_repeated(body):
    with pytest.raises(UpstreamGarbled, match="invalid JSON") as caught:
        read(body)
    assert "\\xff" not in str(caught.value.document())


def test_a_file_is_told_by_what_it_is():
    assert read(b"%PDF-1.7", kind="application/pdf").record == {
        "contentType": "application/pdf",
        "bytes": 8,
        "sha256": hashlib.sha256(b"%PDF-1.7").hexdigest(),
    }


def test_a_list_that_answers_with_one_object_is_one_row():
    assert UNKNOWN.kind is Kind.LIST
    assert read(b'"only"', UNKNOWN).rows == [{"value": "only"}]
