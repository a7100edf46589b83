"""A document becomes operations that can be called; what is odd costs a warning, never the document."""

import pytest

from context_protection.core.policy import Kind
from gateway.connectors.openapi.document import documents, reader
from gateway.connectors.openapi.document.description import BodyKind, DocumentedOperation, Server, Variable
from tests.gateway.connectors.openapi.documents import (
    ROW,
    answering,
    document,
    listing,
    operation,
    posting,
    query,
    read,
    rows_of,
)


def names(*each: tuple[str, str], schema=None):
    """Of operations (method, path), in their order."""
    paths: dict = {}
    for method, path in each:
        paths.setdefault(path, {})[method] = {"responses": answering(schema or rows_of())}
    return [made.name for made in read(paths).operations]


# -- Names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation_id", "expected"),
    [
        ("listPets", "list_pets"),
        ("repos/list-for-user", "repos_list_for_user"),
        ("PetsController_findAll", "pets_find_all"),
        ("read_item_things_get", "read_item"),
        ("Größe.Ändern", "groe_andern"),
        ("getOAuth2Token", "get_o_auth2_token"),
        ("???", "list_things"),
        ("getThings", "list_things"),
    ],
)
def test_a_tool_is_called_as_its_operation_in_snake_case(operation_id, expected):
    assert operation({"operationId": operation_id, "responses": answering(rows_of())}).name == expected


def test_without_an_id_the_name_comes_from_method_and_path():
    assert names(
        ("get", "/v1/customers"),
        ("post", "/v1/customers"),
        ("delete", "/v1/customers/{id}"),
        ("post", "/v1/charges/{id}/capture"),
        ("get", "/api/2024-01/repos/{owner}/{repo}/issues"),
    ) == ["list_customers", "create_customer", "delete_customer", "capture_charge", "list_repo_issues"]
    assert names(("get", "/v1/categories/{id}"), schema=ROW) == ["get_category"]
    assert names(("get", "/movies/{id}"), ("delete", "/statuses/{id}"), schema=ROW) == ["get_movie", "delete_status"]


def test_a_number_before_all_nouns_is_a_version():
    assert names(("get", "/3/movies/{id}"), ("delete", "/api/2/movies/{id}"), schema=ROW) == [
        "get_movie",
        "delete_movie",
    ]
    assert names(("get", "/3/movies"), ("get", "/4/movies"), ("get", "/movies/3/casts")) == [
        "list_movies",
        "get_4_movies",
        "list_movie_3_casts",
    ]
    assert names(("get", "/404"), ("get", "/2024/reports")) == ["list_404", "list_2024_reports"]
    by_id = {"operationId": "GET_3-movies-movie_id", "responses": answering(ROW)}
    assert operation(by_id, "/3/movies/{movie_id}").name == "get_movie"


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("floatingIPs_list", "floating_ips_list"),
        ("List a Project's Issues", "list_a_projects_issues"),
        ("listVPCsByIDs", "list_vpcs_by_ids"),
        ("getHTTPServer", "get_http_server"),
        ("listAsserts", "list_asserts"),
        ("resetDBSessions", "reset_db_sessions"),
    ],
)
def test_the_plural_of_an_abbreviation_is_one_word(operation_id: str, name: str):
    assert operation({"operationId": operation_id, "responses": {}}).name == name


def test_names_are_unique_and_at_most_48_characters():
    long = {"operationId": "thing" * 30, "responses": {}}
    made = [each.name for each in read({f"/a{n}": {"get": long, "post": long} for n in range(20)}).operations]
    assert len(set(made)) == 40
    assert max(map(len, made)) <= 48


def test_operations_of_one_id_are_all_there():
    same = {"operationId": "list", "responses": answering(rows_of())}
    assert [each.name for each in read({"/cats": {"get": same}, "/dogs": {"get": same}}).operations] == [
        "list",
        "list_dogs",
    ]


def test_arguments_never_have_the_names_of_sluices_own():
    made = listing(
        query("fields"), query("cursor"), query("where"), query("filter[name]"), query("$search"), query("ids[]")
    )
    assert list(made.parameters) == ["api_fields", "api_cursor", "api_where", "filter_name", "search", "ids"]
    assert made.places["filter_name"].name == "filter[name]"


def test_arguments_of_one_name_in_two_places_are_two():
    path = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    made = operation({"parameters": [path, query("id"), {"name": "id", "in": "header"}]}, "/a/{id}")
    assert {name: place.location for name, place in made.places.items()} == {
        "id": "path",
        "query_id": "query",
        "header_id": "header",
    }


# -- Descriptions -----------------------------------------------------------------------------------


def test_descriptions_are_plain_and_short():
    node = {
        "description": "# Title\n\nReturns **all** [pets](https://x.org) &amp; `cats`.<br/>Second. " + "Words. " * 200
    }
    described = operation(node).description
    assert described.startswith("Returns all pets & cats. Second. Words.")
    assert len(described) <= 300
    assert described.endswith("Words.")


def test_a_summary_goes_before_a_description():
    assert operation({"summary": "List pets", "description": "Long words."}).description == "List pets"


def test_an_api_says_what_it_is():
    info = {"title": "Pets", "version": 2, "description": "All about pets. And more."}
    api = read({}, info=info)
    assert (api.title, api.version, api.description) == ("Pets", "2", "All about pets.")


# -- Parameters -------------------------------------------------------------------------------------


def test_parameters_of_the_path_are_those_of_each_operation_unless_it_has_its_own():
    item = {
        "parameters": [query("a", description="Shared."), query("b", description="Shared.")],
        "get": {"parameters": [query("b", description="Own.")]},
    }
    (made,) = read({"/x": item}).operations
    assert made.parameters["a"]["description"] == "Shared."
    assert made.parameters["b"]["description"] == "Own."


def test_a_placeholder_that_is_not_declared_is_a_required_text():
    made = operation({}, "/a/{one}/{two}")
    assert made.required == ("one", "two")
    assert made.parameters["one"] == {"type": "string"}
    assert any("{one}" in warning for warning in made.warnings)


def test_a_declared_parameter_that_the_path_does_not_have_is_left_out():
    made = operation({"parameters": [{"name": "gone", "in": "path", "required": True}]}, "/a")
    assert made.parameters == {}
    assert any("gone" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    "name",
    ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Authorization", "Cookie", "Proxy-Authorization",
     "X-Forwarded-For", "Content-Type", "Accept"],
)  # fmt: skip
def test_headers_of_the_connection_are_no_arguments(name):
    made = operation({"parameters": [{"name": name, "in": "header", "required": True, "schema": {"type": "string"}}]})
    assert made.parameters == {}
    assert made.required == ()


def test_other_headers_and_declared_cookies_are_arguments():
    each = [{"name": "X-Trace", "in": "header"}, {"name": "session", "in": "cookie"}]
    assert {place.location for place in operation({"parameters": each}).places.values()} == {"header", "cookie"}


def test_where_the_credential_goes_is_no_argument():
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "api_key"}}
    made = operation({"parameters": [query("api_key"), query("q")]}, components={"securitySchemes": schemes})
    assert list(made.parameters) == ["q"]


def test_a_parameter_with_content_is_sent_as_that_document():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    made = operation(
        {"parameters": [{"name": "f", "in": "query", "content": {"application/json": {"schema": schema}}}]}
    )
    assert made.places["f"].media_type == "application/json"
    assert made.parameters["f"] == schema


def test_parameters_that_are_none_are_left_out_with_a_warning():
    made = operation({"parameters": ["?", None, {"in": "query"}, {"name": "b", "in": "body"}, query("good")]})
    assert list(made.parameters) == ["good"]
    assert len(made.warnings) == 4


# -- Kinds and rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "schema", "kind", "rows"),
    [
        ("/things", {"type": "array", "items": ROW}, Kind.LIST, ""),
        ("/things", rows_of("data"), Kind.LIST, "data"),
        ("/things", rows_of("things", total={"type": "integer"}), Kind.LIST, "things"),
        ("/v1/conversations.list", rows_of("channels", ok={"type": "boolean"}), Kind.LIST, "channels"),
        ("/x", {"type": "object", "properties": {"result": rows_of("items")}}, Kind.LIST, "result.items"),
        ("/x", {"allOf": [{"type": "object", "properties": {"next": {"type": "string"}}}, rows_of("items")]}, Kind.LIST,
         "items"),
        ("/things/{id}", ROW, Kind.RECORD, None),
        ("/orders/{id}", rows_of("lines", id={"type": "string"}, price={"type": "number"}), Kind.RECORD, None),
        ("/things/{id}", {"type": "object", "properties": {"data": ROW}}, Kind.RECORD, None),
        ("/me", rows_of("emails", id={"type": "string"}), Kind.RECORD, None),
        ("/x", {"type": "string"}, Kind.RECORD, None),
    ],
)  # fmt: skip
def test_what_an_answer_is_tells_its_kind_and_where_its_rows_are(path, schema, kind, rows):
    made = operation({"responses": answering(schema)}, path)
    assert (made.kind, made.rows) == (kind, rows)


@pytest.mark.parametrize(
    ("path", "media_types", "more", "is_on"),
    [
        ("/pods", ("application/json",), {}, True),
        ("/watch/pods", ("application/json",), {}, False),
        ("/events", ("text/event-stream",), {}, False),
        ("/events", ("application/json", "text/event-stream"), {}, True),
        ("/pods", ("application/json",), {"deprecated": True}, False),
    ],
)
def test_a_response_that_may_never_end_is_no_tool_at_first(path, media_types, more, is_on):
    content = {media_type: {"schema": {"type": "object"}} for media_type in media_types}
    assert operation({"responses": {"200": {"content": content}}, **more}, path).is_on_at_first is is_on


def test_text_is_a_text_and_what_is_not_safe_an_action():
    assert operation({"responses": {"200": {"content": {"text/markdown": {}}}}}).kind is Kind.TEXT
    assert operation({"responses": {"200": {"content": {"text/csv": {}}}}}).kind is Kind.RECORD
    assert operation({"responses": answering(rows_of())}, method="delete").kind is Kind.ACTION


def test_the_schema_of_a_row_has_no_references_and_keeps_what_only_answers_have():
    node = {
        "type": "object",
        "properties": {"id": {"type": "integer", "readOnly": True}, "owner": {"$ref": "#/components/schemas/Node"}},
    }
    made = operation({"responses": answering({"type": "array", "items": {"$ref": "#/components/schemas/Node"}})},
                     components={"schemas": {"Node": node}})  # fmt: skip
    assert made.record_schema["properties"]["id"] == {"type": "integer"}
    assert "$ref" not in str(made.record_schema)


# -- Bodies -----------------------------------------------------------------------------------------


def test_the_properties_of_a_body_are_arguments():
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "name": {"type": "string"},
            "limit": {"type": "integer"},
        },
    }
    made = posting(schema)
    assert list(made.parameters) == ["name", "api_limit"]
    assert made.required == ("name",)
    assert (made.body.kind, made.body.flattened) == (BodyKind.JSON, True)


def test_a_body_that_is_no_object_is_one_argument():
    made = posting({"type": "array", "items": {"type": "string"}})
    assert made.parameters == {"body": {"type": "array", "items": {"type": "string"}}}
    assert made.required == ("body",)


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("application/x-www-form-urlencoded", BodyKind.FORM),
        ("multipart/form-data", BodyKind.MULTIPART),
        ("application/vnd.shop.v2+json; charset=utf-8", BodyKind.JSON),
        ("text/plain", BodyKind.TEXT),
        ("application/xml", BodyKind.TEXT),
        ("application/pdf", BodyKind.BINARY),
        ("*/*", BodyKind.JSON),
    ],
)
def test_a_media_type_tells_how_a_body_is_written(media_type, kind):
    made = posting({"type": "object", "properties": {"a": {"type": "string"}}}, media_type)
    assert made.body.kind is kind
    assert made.body.media_type == ("application/json" if media_type == "*/*" else media_type)


def test_json_is_chosen_where_there_is_a_choice():
    content = {each: {"schema": {"type": "object"}} for each in ("multipart/form-data", "text/xml", "application/json")}
    assert operation({"requestBody": {"content": content}}, method="post").body.media_type == "application/json"


def test_variants_of_a_body_are_one_set_of_arguments():
    variant = {
        "a": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "kind": {"type": "string"}},
            "required": ["kind"],
        }
    }
    variant["b"] = {
        "type": "object",
        "properties": {"b": {"type": "string"}, "kind": {"type": "string"}},
        "required": ["kind", "b"],
    }
    made = posting({"oneOf": list(variant.values()), "discriminator": {"propertyName": "kind"}})
    assert set(made.parameters) == {"a", "b", "kind"}
    assert made.required == ("kind",)


# -- Servers and security ---------------------------------------------------------------------------


def test_a_server_of_an_operation_is_not_called_which_its_warning_says():
    def warnings(*urls: str) -> tuple[str, ...]:
        own = [{"url": url} for url in urls]
        root = [{"url": "https://api.example.com/v1/"}]
        return operation({"servers": own, "responses": {}}, servers=root).warnings

    assert "own, https://uploads.example.com: calls go to" in " ".join(warnings("https://uploads.example.com"))
    assert not warnings()
    assert not warnings("https://eu.example.com", "https://api.example.com/v1")


def test_servers_of_every_level_are_read_with_their_variables():
    root = [{"url": "https://{region}.x.org/{v}", "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}}}]
    api = read(
        {"/a": {"get": {"servers": [{"url": "https://own.org"}]}, "servers": [{"url": "/p"}], "post": {}}}, servers=root
    )
    assert api.servers == (
        Server("https://{region}.x.org/{v}", {"region": Variable("eu", ("eu", "us")), "v": Variable("")}),
    )
    assert [each.servers[0].url for each in api.operations] == ["https://own.org", "/p"]


def test_ways_to_say_who_calls_are_read():
    schemes = {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "token": {"type": "http", "scheme": "Bearer"},
        "oauth": {
            "type": "oauth2",
            "flows": {"clientCredentials": {"tokenUrl": "https://x.org/t", "scopes": {"read": ""}}},
        },
    }
    api = read({"/a": {"get": {"security": []}, "post": {}}}, components={"securitySchemes": schemes},
               security=[{"key": []}, {"token": [], "oauth": ["read"]}])  # fmt: skip
    assert [(each.kind, each.location, each.parameter, each.token_url) for each in api.securities] == [
        ("apiKey", "header", "X-Key", ""),
        ("bearer", "", "", ""),
        ("clientCredentials", "", "", "https://x.org/t"),
    ]
    assert [each.security for each in api.operations] == [(), (("key",), ("token", "oauth"))]


# -- Odd documents ----------------------------------------------------------------------------------


def test_references_to_path_items_and_parameters_are_followed():
    components = {
        "pathItems": {"P": {"get": {"parameters": [{"$ref": "#/components/parameters/q"}]}}},
        "parameters": {"q": query("q")},
    }
    (made,) = read({"/x": {"$ref": "#/components/pathItems/P"}}, components=components).operations
    assert list(made.parameters) == ["q"]


def test_broken_and_foreign_references_are_named_and_nothing_is_fetched():
    each = [query("a", {"$ref": "#/components/schemas/Gone"}), query("b", {"$ref": "https://evil.example/x.json"})]
    made = operation({"parameters": each})
    assert list(made.parameters) == ["a", "b"]
    assert any("#/components/schemas/Gone" in warning for warning in made.warnings)


def test_references_that_lead_to_themselves_end():
    schemas = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    made = operation({"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}},
                     method="post", components={"schemas": schemas})  # fmt: skip
    assert made.body is not None


def test_webhooks_callbacks_and_methods_without_answers_are_left_out():
    calling = {"callbacks": {"c": {"{$request.body#/url}": {"post": {}}}}}
    api = read({"/x": {"get": calling, "head": {}, "x-y": {"get": {}}}}, webhooks={"w": {"post": {}}})
    assert [each.key for each in api.operations] == ["GET /x"]
    assert any("webhooks" in warning for warning in api.warnings)


def test_openapi_3_2_is_read_with_a_warning():
    api = reader.read(documents.parse(b'{"openapi": "3.2.0", "paths": {"/x": {"get": {}, "query": {}}}}'))
    assert len(api.operations) == 1
    assert any("read as 3.1" in warning for warning in api.warnings)


@pytest.mark.parametrize("junk", [None, 7, "x", [], [7], {"x": 7}, {"get": 7}, {"$ref": 7}, {"$ref": "#/info"}])
def test_no_junk_in_any_place_costs_more_than_itself(junk):
    good = {"responses": answering(rows_of())}
    for key in ("parameters", "requestBody", "responses", "tags", "security", "servers", "summary", "description",
                "operationId", "deprecated", "callbacks"):  # fmt: skip
        assert (
            len(read({"/x": {"get": {**good, key: junk}, "post": {**good, key: junk}}, "/y": {"get": good}}).operations)
            == 3
        )
    for key in ("info", "servers", "components", "security", "tags", "webhooks"):
        assert len(read({"/y": {"get": good}}, **{key: junk}).operations) == 1
    for key in ("schema", "content", "name", "in", "style", "explode"):
        assert read({"/x": {"get": {"parameters": [{**query("q"), key: junk}]}}}).operations
    assert len(read({"/x": junk, "/y": {"get": good}}).operations) >= 1
    assert reader.read(document(junk if isinstance(junk, dict) else {})).operations is not None


def test_an_operation_can_be_kept_as_json():
    import orjson

    made = listing(
        query("limit", {"type": "integer"}), query("offset", {"type": "integer"}), servers=[{"url": "https://{a}"}]
    )
    body = posting({"type": "object", "properties": {"a": {"type": "string"}}})
    for each in (made, body):
        assert DocumentedOperation.from_document(orjson.loads(orjson.dumps(each.document()))) == each
