"""Requests say upstream what the caller has said, and go nowhere but to the API's own address."""

import base64
import email.policy
from dataclasses import replace
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.request import requests, styles
from gateway.upstreams.errors import UpstreamGarbled
from tests.gateway.connectors.openapi.documents import listing, operation, posting, query
from tests.gateway.connectors.openapi.request import decoding

BASE = "https://api.example.com:8443/base/v1"
TEXTS = st.text(min_size=1, max_size=12).filter(lambda text: text.encode("utf-8", "ignore").decode() == text)
# Names and values of the styles that have separators of their own, which nothing encodes twice.
PLAIN = st.text("abcxyz0123456789é静 /&=+#?%,;|", min_size=1, max_size=8)
HOSTILE = [
    "../admin", "..", ".", "%2e%2e", "%2E%2e%2f", "..%2f..", "a/../../b", "..\\..", "%252e%252e", "%25252e%25252e/x",
    "..;/x", "./x", "x/..", "%2e", ".%2e", "..%5c",
]  # fmt: skip
ODD = [
    "//evil.com",
    "/etc",
    "@evil.com",
    ":80",
    "?a=b",
    "#x",
    "a&b=c",
    "\\\\evil",
    "a b",
    "\r\nHost: evil",
    "%00",
    "静",
    "http://e.com/",
]


def in_path(style: str = "simple", explode: bool = False, path: str = "/a/{v}/z") -> DocumentedOperation:
    parameter = {"name": "v", "in": "path", "required": True, "schema": {}, "style": style, "explode": explode}
    return operation({"parameters": [parameter]}, path)


def in_query(**more: Any) -> DocumentedOperation:
    return operation({"parameters": [query("v", {}, **more)]})


def path_of(url: str) -> str:
    assert url.startswith(BASE + "/")
    return url.removeprefix(BASE).partition("?")[0]


def query_of(url: str) -> str:
    return url.partition("?")[2]


# -- Where it goes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
def test_a_path_parameter_never_climbs(value, style):
    for each in (value, [value], ["a", value], {"a": value}):
        with pytest.raises(InvalidArgument) as caught:
            requests.build(in_path(style), {"v": each}, BASE)
        assert caught.value.parameter == "v"


@pytest.mark.parametrize("value", ODD)
def test_what_has_a_meaning_in_urls_has_none_in_a_value(value):
    url = requests.build(in_path(), {"v": value}, BASE).url
    assert urlsplit(url).netloc == "api.example.com:8443"
    assert unquote(path_of(url)) == f"/a/{value}/z"
    assert path_of(url).count("/") == 3
    url = requests.build(in_query(), {"v": value}, BASE).url
    assert parse_qsl(query_of(url), keep_blank_values=True) == [("v", value)]


@given(TEXTS)
def test_any_text_stays_in_its_segment(value):
    try:
        url = requests.build(in_path(), {"v": value}, BASE).url
    except InvalidArgument:
        assert requests._climbs(value)
        return
    assert path_of(url).count("/") == 3
    assert unquote(path_of(url)) == f"/a/{value}/z"
    assert urlsplit(url)._replace(path="", query="", fragment="").geturl() == "https://api.example.com:8443"
    assert url.isascii()


@pytest.mark.parametrize("value", ["", [], {}, [""], None])
def test_a_part_of_the_path_is_never_empty(value):
    with pytest.raises(InvalidArgument):
        requests.build(in_path(), {"v": value}, BASE)


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/a/{x}{y}/b", {"x": "%2", "y": "e%2e"}),
        ("/a/..{x}/b", {"x": ";a"}),
        ("/a/.{x}", {"x": "/b"}),
        ("/../{x}", {"x": "a"}),
        ("/a/%2e%2e/{x}", {"x": "a"}),
    ],
)
def test_parts_that_are_harmless_alone_do_not_climb_together(path, arguments):
    with pytest.raises(InvalidArgument, match="an address outside the API"):
        requests.build(operation({}, path), arguments, BASE)


@pytest.mark.parametrize(
    "path", ["/../x", "//evil.com/x", "@evil.com", "/a/%2e%2e/b", "/a\\..\\b", "https://evil.com/"]
)
def test_a_path_of_the_document_does_not_leave_the_api_either(path):
    try:
        url = requests.build(operation({}, path), {}, BASE).url
    except InvalidArgument:
        return
    assert urlsplit(url).netloc == "api.example.com:8443"
    assert urlsplit(url).path.startswith("/base/v1/")


def test_a_query_within_a_path_of_the_document_is_kept():
    assert (
        requests.build(operation({"parameters": [query("q")]}, "/a?action=b#c"), {"q": "1"}, BASE).url
        == f"{BASE}/a?action=b&q=1"
    )


def test_half_a_character_is_no_value():
    for made in (in_path(), in_query()):
        with pytest.raises(InvalidArgument):
            requests.build(made, {"v": "\ud800"}, BASE)


# -- Styles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "explode", "text", "array", "object_"),
    [
        ("simple", False, "blue", "a,b", "R,1,G,2"),
        ("simple", True, "blue", "a,b", "R=1,G=2"),
        ("label", False, ".blue", ".a,b", ".R,1,G,2"),
        ("label", True, ".blue", ".a.b", ".R=1.G=2"),
        ("matrix", False, ";v=blue", ";v=a,b", ";v=R,1,G,2"),
        ("matrix", True, ";v=blue", ";v=a;v=b", ";R=1;G=2"),
    ],
)
def test_styles_of_paths_are_those_of_the_specification(style, explode, text, array, object_):
    made = in_path(style, explode, "/{v}")
    sent = [path_of(requests.build(made, {"v": value}, BASE).url) for value in ("blue", ["a", "b"], {"R": 1, "G": 2})]
    assert sent == [f"/{text}", f"/{array}", f"/{object_}"]


@pytest.mark.parametrize(
    ("more", "array", "object_"),
    [
        ({}, "v=a&v=b", "R=1&G=2"),
        ({"explode": False}, "v=a,b", "v=R,1,G,2"),
        ({"style": "spaceDelimited", "explode": False}, "v=a%20b", "v=R%201%20G%202"),
        ({"style": "pipeDelimited", "explode": False}, "v=a%7Cb", "v=R%7C1%7CG%7C2"),
        ({"style": "pipeDelimited", "explode": True}, "v=a&v=b", "R=1&G=2"),
        ({"style": "deepObject", "explode": True}, "v%5B0%5D=a&v%5B1%5D=b", "v%5BR%5D=1&v%5BG%5D=2"),
    ],
)
def test_styles_of_queries_are_those_of_the_specification(more, array, object_):
    sent = [
        query_of(requests.build(in_query(**more), {"v": value}, BASE).url) for value in (["a", "b"], {"R": 1, "G": 2})
    ]
    assert sent == [array, object_]


VALUES = st.one_of(
    PLAIN, st.lists(PLAIN, min_size=1, max_size=4), st.dictionaries(PLAIN, PLAIN, min_size=1, max_size=4)
)


@given(VALUES, st.sampled_from(["simple", "label", "matrix"]), st.booleans())
def test_what_a_path_says_is_what_a_server_reads(value, style, explode):
    made = in_path(style, explode)
    assume(not any(requests._climbs(each) for each in requests._texts(value)))
    try:
        sent = path_of(requests.build(made, {"v": value}, BASE).url)
    except InvalidArgument:
        assert requests._climbs(styles.path_value(made.places["v"], value))  # a label's "./x", ".;x"
        return
    assert decoding.path("/a/{v}/z", sent, made.places["v"], value) == value


@given(VALUES, st.sampled_from(["form", "spaceDelimited", "pipeDelimited"]), st.booleans())
def test_what_a_query_says_is_what_a_server_reads(value, style, explode):
    made = in_query(style=style, explode=explode)
    # The specification has no way to say a separator within a value of these styles.
    assume(
        {"spaceDelimited": " ", "pipeDelimited": "|"}.get(style, "\0") not in "".join(requests._texts(value)) or explode
    )
    assert decoding.query(query_of(requests.build(made, {"v": value}, BASE).url), made.places["v"], value) == value


KEYS = st.text("abcxyz_é静 ", min_size=1, max_size=6)
DEEP = st.dictionaries(KEYS, st.recursive(TEXTS, lambda below: st.one_of(
    st.lists(below, min_size=1, max_size=3), st.dictionaries(KEYS, below, min_size=1, max_size=3)), max_leaves=8),
    min_size=1, max_size=3)  # fmt: skip


@given(DEEP)
def test_a_deep_object_is_what_a_server_reads(value):
    sent = query_of(requests.build(in_query(style="deepObject"), {"v": value}, BASE).url)
    assert decoding.brackets(sent)["v"] == value


def test_values_of_json_are_written_as_json_writes_them():
    given = {"v": [True, False, 1, 1.5, "x"]}
    assert query_of(requests.build(in_query(), given, BASE).url) == "v=true&v=false&v=1&v=1.5&v=x"


def test_reserved_characters_stay_where_they_are_allowed():
    assert query_of(requests.build(in_query(allowReserved=True), {"v": "a/b:c&d#e"}, BASE).url) == "v=a/b:c%26d%23e"


def test_a_parameter_with_content_is_json():
    made = operation({"parameters": [{"name": "v", "in": "query", "content": {"application/json": {}}}]})
    assert orjson.loads(unquote(query_of(requests.build(made, {"v": {"a": [1]}}, BASE).url))[2:]) == {"a": [1]}


def test_a_page_is_asked_for_beside_the_arguments():
    made = listing(query("limit", {"type": "integer"}), query("offset", {"type": "integer"}), query("q"))
    assert query_of(requests.build(made, {"q": "a"}, BASE, {"limit": 5, "offset": 10}).url) == "q=a&limit=5&offset=10"


def test_defaults_of_a_safe_operation_are_left_to_upstream():
    made = operation({"parameters": [query("v", {"type": "string", "default": "all"})]})
    assert made.parameters["v"]["default"] == "all"
    assert requests.build(made, {"v": "all"}, BASE).url == f"{BASE}/things"
    assert query_of(requests.build(made, {"v": "own"}, BASE).url) == "v=own"


def test_defaults_of_an_action_are_told_and_never_sent_unasked():
    made = posting({"type": "object", "properties": {"private": {"type": "boolean", "default": False}}})
    assert made.parameters["private"] == {"type": "boolean", "description": "Default: false."}
    assert requests.build(made, {"private": False}, BASE).body == b'{"private":false}'
    assert requests.build(made, {}, BASE).body == b"{}"
    edited = replace(made, parameters={"private": {"type": "boolean", "default": False}})
    assert requests.build(edited, {"private": False}, BASE).body == b'{"private":false}'


# -- Headers ----------------------------------------------------------------------------------------


def in_header(**more: Any) -> DocumentedOperation:
    return operation({"parameters": [{"name": "X-V", "in": "header", "schema": {}, **more}]})


@pytest.mark.parametrize("value", ["a\r\nHost: evil", "a\nb", "\x00", "静", "\x7f", ["a", "b\r\n"], {"a": "\n"}])
def test_a_header_is_one_line_of_latin_1(value):
    with pytest.raises(InvalidArgument) as caught:
        requests.build(in_header(), {"X-V": value}, BASE)
    assert caught.value.parameter == "X-V"


def test_headers_and_cookies_are_written_in_their_styles():
    assert requests.build(in_header(), {"X-V": ["a", "é"]}, BASE).headers["x-v"] == "a,é"
    assert requests.build(in_header(explode=True), {"X-V": {"a": 1}}, BASE).headers["x-v"] == "a=1"
    made = operation({"parameters": [{"name": name, "in": "cookie"} for name in ("s", "t")]})
    assert requests.build(made, {"s": "a;b\r\n", "t": "1"}, BASE).headers["cookie"] == "s=a%3Bb%0D%0A; t=1"


# -- Bodies -----------------------------------------------------------------------------------------

ANY = {"type": "object", "properties": {name: {} for name in ("name", "metadata", "items", "expand", "limit")}}


def test_json_has_upstreams_names():
    request = requests.build(posting(ANY), {"name": "静", "api_limit": 3}, BASE)
    assert request.headers["content-type"] == "application/json"
    assert orjson.loads(request.body) == {"name": "静", "limit": 3}
    assert (request.method, request.may_be_repeated) == ("POST", False)


def test_a_form_has_brackets_where_it_is_deep():
    made = posting(
        ANY, "application/x-www-form-urlencoded", encoding={"expand": {"style": "deepObject", "explode": True}}
    )
    given = {"name": "a b&c", "metadata": {"k": "v"}, "items": [{"price": "p", "n": 1}], "expand": ["x", "y"]}
    body = requests.build(made, given, BASE).body.decode()
    assert parse_qsl(body) == [
        ("name", "a b&c"),
        ("metadata[k]", "v"),
        ("items[0][price]", "p"),
        ("items[0][n]", "1"),
        ("expand[0]", "x"),
        ("expand[1]", "y"),
    ]


@given(DEEP)
def test_a_form_is_what_a_server_reads(value):
    made = posting({"type": "object", "properties": {"v": {}}}, "application/x-www-form-urlencoded")
    assert decoding.brackets(requests.build(made, {"v": value}, BASE).body.decode())["v"] == value


def test_a_plain_list_of_a_form_repeats_its_name():
    body = requests.build(posting(ANY, "application/x-www-form-urlencoded"), {"items": ["a", 1]}, BASE).body
    assert body == b"items=a&items=1"


def test_a_form_that_is_one_argument_has_its_members_as_fields():
    made = posting({"type": "object"}, "application/x-www-form-urlencoded")
    assert requests.build(made, {"body": {"a": "1", "b": {"c": "2"}}}, BASE).body == b"a=1&b%5Bc%5D=2"


def test_a_multipart_body_has_files_and_fields():
    schema = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}, "meta": {}, "tag": {}}}
    content = base64.b64encode(b"\x00\xff").decode()
    request = requests.build(
        posting(schema, "multipart/form-data"),
        {
            "file": {"filename": 'a"\r\nX: y.bin', "content": content, "base64": True},
            "meta": {"a": 1},
            "tag": ["x", "y"],
        },
        BASE,
    )
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    parts = BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body).get_payload()
    assert [part.get_param("name", header="content-disposition") for part in parts] == ["file", "meta", "tag", "tag"]
    assert [part.get_payload(decode=True) for part in parts] == [b"\x00\xff", b'{"a":1}', b"x", b"y"]
    assert parts[0].get_filename() == "a%22%0D%0AX: y.bin"
    assert not any("X" in part for part in parts)


def test_texts_and_bytes_are_sent_as_they_are():
    request = requests.build(posting({}, "text/plain"), {"body": "静"}, BASE)
    assert (request.body.decode(), request.headers["content-type"]) == ("静", "text/plain; charset=utf-8")
    assert (
        requests.build(posting({}, "application/pdf"), {"body": base64.b64encode(b"%PDF").decode()}, BASE).body
        == b"%PDF"
    )
    with pytest.raises(InvalidArgument, match="base64"):
        requests.build(posting({}, "application/pdf"), {"body": "no base64!"}, BASE)


# -- Next pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["?page=2", "/base/v1/a?page=2", "https://api.example.com:8443/base/v1/a?page=2", "a?page=2#x"]
)
def test_a_next_page_of_the_same_host_is_asked_for(url):
    request = requests.build(in_header(), {"X-V": "a"}, BASE)
    following = requests.next_page(request, url)
    assert following.url.startswith("https://api.example.com:8443/base/v1/")
    assert following.url.endswith("?page=2")
    assert following.headers == request.headers


@pytest.mark.parametrize(
    "url",
    ["https://evil.com/a", "//evil.com/a", "http://api.example.com:8443/a", "https://api.example.com/a", "ftp://x",
     "https://api.example.com:8443@evil.com/", "https://u:p@api.example.com:8443/", "https://api.example.com:99999/",
     "a b", "https://[::1", "javascript:alert(1)"],
)  # fmt: skip
def test_a_next_page_of_another_host_is_refused(url):
    with pytest.raises(UpstreamGarbled):
        requests.next_page(requests.build(in_query(), {}, BASE), url)
