"""The laws over whatever a plain view answers with, and the two ways in which a middleware is called."""

from collections.abc import Mapping
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import RequestFactory
from django.urls import resolve
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core import tokens
from context_protection.core.json_values import loads, plain
from context_protection.middleware import ProtectionMiddleware
from context_protection.models import TokenBudget
from tests import crawler
from tests.properties import payloads

CAP = 12_000
ADDRESS = "/health"  # any that resolves


def asked(query: Mapping[str, Any]) -> HttpRequest:
    request = RequestFactory().get(ADDRESS, dict(query))
    request.resolver_match = resolve(ADDRESS)
    return request


def answered(middleware: ProtectionMiddleware, query: Mapping[str, Any]) -> Any:
    request = asked(query)
    middleware.process_view(request)
    return middleware(request)


def client_of(value: Any) -> crawler.Call:
    """A client of a view that always gives `value`."""
    middleware = ProtectionMiddleware(lambda request: JsonResponse(value, safe=False))

    def call(address: str, query: Mapping[str, Any]) -> dict[str, Any]:
        assert address == ADDRESS
        response = answered(middleware, query)
        assert response.status_code == 200, response.text
        assert tokens.claude.count(response.text) <= CAP
        document: dict[str, Any] = loads(response.content)
        return document

    return call


@pytest.mark.django_db
@given(payloads.records | payloads.large_records())
def test_an_object_is_never_over_the_cap_and_nothing_of_it_is_lost(record: dict[str, Any]):
    call = client_of(record)
    call(ADDRESS, {})
    assert crawler.from_parts(call, ADDRESS, {"fields": "all"}) == record


@pytest.mark.django_db
@given(payloads.lists())
def test_a_list_is_never_over_the_cap_and_every_row_comes_once(rows: list[dict[str, Any]]):
    call = client_of(rows)
    assert [row["id"] for row in crawler.walk(call, ADDRESS, {})] == [row["id"] for row in rows]


@given(st.recursive(payloads.scalars | st.text() | st.integers() | st.floats(), st.lists, max_leaves=8))
def test_every_value_is_json_afterwards_and_stays_so(value: Any):
    once = plain(value)
    assert plain(once) == once


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"18446744073709551615", 2**64 - 1),
        (b"18446744073709551616", "18446744073709551616"),
        (b"-9223372036854775808", -(2**63)),
        (b"-9223372036854775809", "-9223372036854775809"),
        (b"1" * 5000, "1" * 5000),
        (b"[0.1234567890123456789, 1e400]", [0.1234567890123456789, "1e400"]),
        (b"[NaN, -Infinity]", ["NaN", "-Infinity"]),
        (b'"\\ud83d"', "?"),
        (b'"1234567890123456789012"', "1234567890123456789012"),
    ],
)
def test_numbers_keep_what_they_say(body: bytes, value: Any):
    assert loads(body) == value


def plain_view(request: HttpRequest) -> HttpResponse:
    return JsonResponse([{"id": n} for n in range(300)], safe=False)


async def async_view(request: HttpRequest) -> HttpResponse:
    return plain_view(request)


@pytest.mark.django_db
def test_on_the_loop_the_answer_is_the_same():
    query = {"limit": 7, "fields": "id"}
    at_once = loads(answered(ProtectionMiddleware(plain_view), query).content)
    later = loads(async_to_sync(answered_on_the_loop)(ProtectionMiddleware(async_view), query).content)
    assert crawler.rows(later) == crawler.rows(at_once)
    assert later["nextCursor"]


async def answered_on_the_loop(middleware: ProtectionMiddleware, query: Mapping[str, Any]) -> Any:
    return await answered(middleware, query)


@pytest.mark.django_db
def test_the_policy_is_the_one_from_before_the_view_ran(django_capture_on_commit_callbacks: Any):
    def changing(request: HttpRequest) -> HttpResponse:
        with django_capture_on_commit_callbacks(execute=True):
            TokenBudget.objects.create(operation="", default_page_size=5)
        return plain_view(request)

    assert loads(answered(ProtectionMiddleware(changing), {}).content)["meta"]["pageSize"] == 50
    assert loads(answered(ProtectionMiddleware(plain_view), {}).content)["meta"]["pageSize"] == 5


@pytest.mark.django_db
def test_the_length_that_a_view_has_said_is_put_right():
    def measured(request: HttpRequest) -> HttpResponse:
        response = plain_view(request)
        response.headers["Content-Length"] = str(len(response.content))
        return response

    response = answered(ProtectionMiddleware(measured), {})
    assert response.headers["Content-Length"] == str(len(response.content))


@pytest.mark.django_db
def test_another_charset_is_read_as_it_is_written():
    def latin(request: HttpRequest) -> HttpResponse:
        return HttpResponse('{"name":"Müller"}'.encode("latin-1"), content_type="application/json; charset=latin-1")

    response = answered(ProtectionMiddleware(latin), {})
    assert response.headers["Content-Type"] == "application/json"
    assert loads(response.content)["name"] == "Müller"
