"""The database answers `where` and `aggregate` as memory does, value by value, whatever rows hold and callers send."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from context_protection.core.errors import CallError, InvalidArgument
from context_protection.core.query import aggregation, conditions, grouping
from context_protection.core.query.aggregation import Groups
from context_protection.core.query.buckets import Bucket
from context_protection.core.query.columns import QueryColumn, QueryColumns
from context_protection.orm import query
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import Booking, Listing, Transaction, UpstreamObject
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from tests.properties.payloads import values

pytestmark = pytest.mark.django_db

LISTS = [
    (Booking, BOOKINGS.query_columns, BOOKINGS),
    (Listing, LISTINGS.query_columns, LISTINGS),
    (Transaction, TRANSACTIONS.query_columns, TRANSACTIONS),
]


def objects(model: type[UpstreamObject]) -> list[dict[str, Any]]:
    return [orjson.loads(data) for data in model._default_manager.values_list("data", flat=True)]


def from_database(model: type[UpstreamObject], where: Any, aggregate: Any, columns: QueryColumns) -> Groups:
    rows = query.filtered(model._default_manager.all(), conditions.parse(where, columns))
    return query.aggregated(rows, aggregation.parse(aggregate, columns))


def from_memory(rows: list[dict[str, Any]], where: Any, aggregate: Any, columns: QueryColumns) -> Groups:
    asked = conditions.parse(where, columns)
    return grouping.aggregate([row for row in rows if asked.match(row)], aggregation.parse(aggregate, columns))


def check_same(where: Any, aggregate: Any, model: type[UpstreamObject], columns: QueryColumns) -> Groups:
    found = from_database(model, where, aggregate, columns)
    expected = from_memory(objects(model), where, aggregate, columns)
    assert orjson.dumps(found.rows) == orjson.dumps(expected.rows)
    assert found.notes == expected.notes
    return found


def bookings(where: Any, aggregate: Any) -> Groups:
    return check_same(where, aggregate, Booking, query.known_from(Booking, BOOKINGS.query_columns))


def keep(*rows: dict[str, Any]) -> None:
    """The only bookings there are."""
    Booking.objects.all().delete()
    numbered = [{"id": number, "insertedOn": "2026-01-01 00:00:00", **row} for number, row in enumerate(rows, start=1)]
    for _ in store.save(BOOKINGS, numbered):
        pass


# -- The sample account -----------------------------------------------------------------------------


def test_revenue_of_each_property_by_month():
    where = {"status": "confirmed", "totalPrice": {"gte": 500}, "guestName": {"contains": "A"}}
    asked = {
        "groupBy": ["propertyId", {"field": "checkInDate", "bucket": "month"}],
        "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}, {"op": "count"}],
        "orderBy": "-revenue",
        "limit": 20,
    }
    answer = bookings(where, asked)
    assert list(answer.rows[0]) == ["propertyId", "checkInDate", "currency", "revenue", "count"]
    assert len(answer.rows) == 20
    assert "currency" in answer.notes[0]


@pytest.mark.parametrize(("model", "columns", "mapped"), LISTS)
def test_every_declared_column_is_answered_as_in_memory(model: Any, columns: QueryColumns, mapped: FieldTable):
    for column in columns.declared:
        check_same({}, {"groupBy": [column.name], "metrics": ["count"]}, model, columns)
        check_same({column.name: None}, {}, model, columns)
        metrics = [{"op": op, "field": column.name} for op in ("count", "countDistinct", "min", "max")]
        check_same({}, {"metrics": metrics}, model, columns)


@pytest.mark.parametrize(("model", "columns", "mapped"), LISTS)
def test_every_declared_column_has_a_value_somewhere_or_is_known_upstream(model: Any, columns: Any, mapped: Any):
    names = set().union(*map(dict.keys, objects(model)))
    assert {column.source for column in columns.declared} <= names


def test_upstreams_own_names_are_askable():
    asked = {
        "groupBy": ["guestLocale", {"field": "updatedOn", "bucket": "week"}],
        "metrics": [{"op": "avg", "field": "adults"}, {"op": "p90", "field": "taxAmount"}],
    }
    assert bookings({"adults": {"gte": 2}, "listingName": {"contains": "บ้าน"}}, asked).rows


def test_a_name_that_no_sampled_row_has_is_unknown():
    columns = query.known_from(Booking, BOOKINGS.query_columns)
    with pytest.raises(InvalidArgument) as raised:
        conditions.parse({"guestLocal": "fr"}, columns)
    assert raised.value.suggestion == 'Set where to {"guestLocale":"fr"}.'


def test_rows_are_sampled_once_and_only_for_a_name_that_is_not_declared():
    columns = query.known_from(Booking, BOOKINGS.query_columns)
    with CaptureQueriesContext(connection) as queries:
        conditions.parse({"status": "confirmed", "propertyId": 1}, columns)
        assert len(queries) == 0
        conditions.parse({"guestLocale": "fr", "adults": 1}, columns)
        assert len(queries) == 2  # the newest and the oldest


def test_of_an_empty_list_any_name_may_be_asked():
    keep()
    assert bookings({"anything": 1}, {"groupBy": ["anything"]}).rows == []
    assert bookings({}, {}).rows == [{"count": 0}]


def test_secrets_are_not_askable():
    columns = query.known_from(Booking, BOOKINGS.query_columns)
    for name in ("doorCode", "DOORCODE", "ccNumber", "wifiPassword"):
        with pytest.raises(InvalidArgument, match="withheld"):
            conditions.parse({name: {"contains": "1"}}, columns)
    with pytest.raises(InvalidArgument, match="withheld"):
        aggregation.parse({"groupBy": ["guestEmail"]}, columns)


def test_the_filtered_rows_are_counted_and_read_as_any_others():
    rows = query.filtered(
        Booking.objects.order_by("-id"), conditions.parse({"nights": {"gt": 3}}, BOOKINGS.query_columns)
    )
    assert rows.count() == Booking.objects.filter(nights__gt=3).count()
    assert rows[0].nights > 3


def test_too_many_groups_need_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(grouping, "GROUPS_WITHOUT_LIMIT", 3)
    columns = BOOKINGS.query_columns
    with pytest.raises(InvalidArgument, match="more than 3 groups"):
        from_database(Booking, {}, {"groupBy": ["id"]}, columns)
    assert len(from_database(Booking, {}, {"groupBy": ["id"], "limit": 7}, columns).rows) == 7


def test_of_a_queryset_that_is_known_to_be_empty_nothing_is_asked():
    spec = aggregation.parse({"metrics": ["count", {"op": "sum", "field": "totalPrice"}]}, BOOKINGS.query_columns)
    assert query.aggregated(Booking.objects.none(), spec).rows == [{"count": 0, "sum_totalPrice": None}]


def test_a_condition_on_a_column_uses_its_index():
    rows = query.filtered(Booking.objects.order_by(), conditions.parse({"propertyId": 200359}, BOOKINGS.query_columns))
    if connection.vendor == "sqlite":  # Postgres reads a small table whole
        assert "USING INDEX" in rows.explain()


def test_a_converted_value_needs_a_column():
    columns = QueryColumns((QueryColumn("status", convert=str.upper),))
    with pytest.raises(TypeError, match="needs a database column"):
        query.filtered(Booking.objects.all(), conditions.parse({"status": "NEW"}, columns))


# -- Odd rows ---------------------------------------------------------------------------------------


def test_values_of_another_type_count_as_null():
    keep(
        {"taxAmount": "5", "updatedOn": "2026-02-29 10:00:00", "x": "2026-02-30"},
        {"taxAmount": True, "updatedOn": 5, "x": "2024-02-29"},
        {"taxAmount": 2.5, "updatedOn": "2026-02-28", "x": "2026-02-28\n"},
        {"taxAmount": [1], "updatedOn": "0000-01-01", "x": {"2026-02-28": 1}},
    )
    month = {"field": "x", "bucket": "month"}
    assert bookings({}, {"groupBy": [month]}).rows == [{"x": "2024-02", "count": 1}, {"x": None, "count": 3}]
    assert bookings({}, {"metrics": [{"op": "sum", "field": "taxAmount", "as": "s"}]}).rows == [{"s": 2.5}]
    assert bookings({"updatedOn": {"ne": None}}, {}).rows == [{"count": 1}]


@pytest.mark.parametrize("bucket", Bucket)
def test_stored_and_upstreams_moments_fall_in_the_same_spans(bucket: str):
    moments = ["2026-12-31 23:59:59", "2027-01-01 00:00:00", "2027-01-04 09:30:00", "2026-01-01 10:00:00"]
    keep(*({"insertedOn": moment, "updatedOn": moment, "x": moment, "arrivalDate": moment[:10]} for moment in moments))
    names = ["insertedOn", "updatedOn", "x"] + ["checkInDate"] * (bucket != Bucket.HOUR)
    spans = [bookings({}, {"groupBy": [{"field": name, "bucket": bucket, "as": "span"}]}).rows for name in names]
    assert all(each == spans[0] for each in spans)


@pytest.mark.parametrize("name", ["insertedOn", "updatedOn"])
def test_a_date_given_for_a_moment_means_its_whole_day(name: str):
    keep({name: "2026-11-20 13:30:00"}, {name: "2026-11-21 00:00:00"})
    assert bookings({name: {"lte": "2026-11-20", "gte": "2026-11-20"}}, {"groupBy": ["id"]}).rows == [
        {"id": 1, "count": 1}
    ]
    assert bookings({name: {"gt": "2026-11-20 13:30:00"}, "id": {"lt": 3}}, {}).rows == [{"count": 1}]


def test_whole_numbers_of_64_bits_are_groups_of_their_own():
    keep({"x": 2**64 - 1}, {"x": 2**64 - 2}, {"x": 2**63})
    assert [row["x"] for row in bookings({}, {"groupBy": ["x"]}).rows] == [2**63, 2**64 - 2, 2**64 - 1]
    assert bookings({"x": {"gt": 2**62}}, {}).rows == [{"count": 3}]
    assert bookings({"x": {"in": [2**63]}}, {}).rows == [{"count": 1}]


@pytest.mark.parametrize(
    "where",
    [
        {"x": "4"},
        {"x": {"gt": "4"}},
        {"y": "true"},
        {"z": {"lte": "2026-11-20"}},
        {"z": "2026-11-20"},
        {"z": {"gte": "2026-11-20T13:30:00Z", "lt": "2026-11-21T01:00:00+01:00"}},
    ],
)
def test_texts_are_compared_with_upstreams_own_names_as_in_memory(where: Any):
    keep(
        {"x": 4, "y": True, "z": "2026-11-20 13:30:00"},
        {"x": 5, "y": True, "z": "2026-11-21T00:00:00Z"},
        {"x": None, "y": False, "z": ""},
    )
    assert bookings(where, {}).rows[0]["count"] > 0


def test_a_place_in_a_list_is_no_name():
    keep({"x": [1, 2], "y": {"0": 3}})
    columns = replace(BOOKINGS.query_columns, sample=tuple)
    assert check_same({"x.0": 1}, {}, Booking, columns).rows == [{"count": 0}]
    assert check_same({"y.0": 3}, {}, Booking, columns).rows == [{"count": 1}]


def test_an_escaped_nul_in_upstreams_text_hurts_nobody():
    keep({"x": "a\0\0b", "guestName": "a\0b"}, {"x": "a\\u0000b"}, {"x": "\\\0"}, {"x\0": 1})
    rows = bookings({"guestName": None}, {"groupBy": ["x"]}).rows
    assert [row["x"] for row in rows] == ["\\\ufffd", "a\\u0000b", None]


@pytest.mark.parametrize(("text", "asked"), [("Straße", "STRASSE"), ("ΟΔΟΣ", "οδός"[:2]), ("ÅSE", "åse"), ("K", "k")])
def test_contains_looks_at_no_case_in_any_script(text: str, asked: str):
    keep({"guestName": text, "comment": text}, {"guestName": "100% _"})
    assert bookings({"guestName": {"contains": asked}}, {}).rows == [{"count": 1}]
    assert bookings({"comment": {"contains": asked}}, {}).rows == [{"count": 1}]
    assert bookings({"guestName": {"contains": "%"}}, {}).rows == [{"count": 1}]
    assert bookings({"guestName": {"contains": "__"}}, {}).rows == [{"count": 0}]


HOSTILE = ["'", '"', "''; DROP TABLE x;--", "$", "$.a", "a[0]", "]", "{", "{0}", "%s", "%", "%(x)s", "\\", "\\u0000",
           "😀", "a'b\"c", "--", "?", ":x", "a.b", ".", "..", "*", "é\u0301", " "]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_values_are_data_and_never_sql(name: str):
    keep({name: name, "guestName": name, "x": {name: 5}}, {})
    columns = replace(BOOKINGS.query_columns, sample=tuple)
    metrics = [{"op": "count", "field": name, "as": f"of {name}"}, {"op": "median", "field": f"x.{name}", "as": "m"}]
    found = check_same({name: name, "guestName": {"contains": name}}, {"metrics": metrics}, Booking, columns)
    assert found.rows[0][f"of {name}"] == 1
    by_name = check_same({}, {"groupBy": [{"field": name, "as": "k"}], "orderBy": "-k"}, Booking, columns)
    assert by_name.rows == [{"k": name, "count": 1}, {"k": None, "count": 1}]


@pytest.mark.parametrize("name", ["\0", "a\0b", "\ud800", "x" * 201])
def test_names_that_no_database_can_hold_are_unknown(name: str):
    for columns in (BOOKINGS.query_columns, replace(BOOKINGS.query_columns, sample=tuple)):
        with pytest.raises(InvalidArgument, match="cannot be queried"):
            conditions.parse({name: 1}, columns)


# -- The law: memory and database say the same ------------------------------------------------------

TEXTS = ["", "a", "A", "ä", "Ä", "ß", "SS", "Σ", "ς", "İ", "ı", "\0", "\\u0000", "true", "1", "😀", "２", "\ufb01",
         "2026-11-20", "2026-02-30", "2026-12-28T23:59:59Z", "2024-02-29 00:00:00", "0000-01-01", "2026-11-20\n",
         "2026-11-20 24:00:00", "9999-12-31", "0001-01-01", "2026-11-20T10:00", "2026-11-20 10:00Z",
         "2026-11-20T10:00:7", "2026-11-20T10:00:60"]  # fmt: skip
NUMBERS = [
    0,
    1,
    -1,
    2,
    0.1,
    0.2,
    0.30000000000000004,
    1.0,
    -0.0,
    2.5,
    1e22,
    1e300,
    5e-324,
    2**53 + 1,
    -(2**63),
    2**63 - 1,
]
AMOUNTS = st.one_of(st.none(), st.integers(-5, 500), st.integers(-(10**9), 10**9).map(lambda cents: cents / 100))
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(TEXTS), st.text(max_size=3))
anything = st.one_of(scalars, scalars, st.just([1]), st.just({"a": 1}))
days = st.one_of(st.none(), st.sampled_from(["2026-11-20", "2027-01-01", "2024-02-29", "0001-01-01", "9999-12-31"]))
moments = st.sampled_from(["2026-11-20 00:00:00", "2026-11-20 13:30:59", "2027-01-01 00:00:00", "2026-12-31 23:59:59"])
upstream_rows = st.fixed_dictionaries(
    {
        "insertedOn": moments,
        "status": st.sampled_from(["new", "modified", "cancelled", None]),
        "guestName": st.one_of(st.none(), st.sampled_from(TEXTS), st.text(max_size=4)),
        "arrivalDate": days,
        "nights": st.one_of(st.none(), st.integers(0, 5), st.integers(-(2**63) + 1, 2**63 - 1)),
        "totalPrice": AMOUNTS,
        "currency": st.sampled_from(["EUR", "EUR", "EUR", "USD", None]),
    },
    optional={
        "taxAmount": st.one_of(anything, AMOUNTS),
        "updatedOn": anything,
        "x": anything,
        "y": st.one_of(anything, st.dictionaries(st.sampled_from(["a", "b.c", "b", "0"]), anything)),
        "y.a": anything,
    },
)
NAMES = ["id", "status", "sourceStatus", "guestName", "checkInDate", "arrivalDate", "nights", "totalPrice", "currency",
         "insertedOn", "taxAmount", "updatedOn", "x", "y", "y.a", "y.b.c", "y.b", "y.0"]  # fmt: skip
names = st.sampled_from(NAMES)
wanted = st.one_of(scalars, days, moments, st.integers(0, 5), st.just("confirmed"))
compared = st.one_of(
    wanted,
    st.lists(wanted, max_size=3),
    st.dictionaries(
        st.sampled_from([*conditions.COMPARED, "ne", "contains", "isnull"]), wanted, min_size=1, max_size=2
    ),
)
flat = st.dictionaries(names, compared, max_size=2)
wheres = st.one_of(flat, st.builds(lambda one, more: {**one, "or": more}, flat, st.lists(flat, min_size=1, max_size=2)))
keys = st.fixed_dictionaries({"field": names}, optional={"bucket": st.sampled_from(Bucket)})
metrics = st.fixed_dictionaries(
    {"op": st.sampled_from(aggregation.OPS), "field": names}, optional={"p": st.floats(0, 1)}
)
specs = st.fixed_dictionaries(
    {"groupBy": st.lists(st.one_of(names, keys), max_size=2), "metrics": st.lists(metrics, max_size=3)},
    optional={"orderBy": st.one_of(names, names.map("-{}".format), st.just("-count")), "limit": st.integers(1, 3)},
)


def readable(parse: Any, asked: Any, columns: QueryColumns) -> Any:
    """The part of what was drawn that can be parsed, or nothing of it."""
    for name in [None, *asked]:
        asked = {each: value for each, value in asked.items() if each != name}
        try:
            parse(asked, columns)
        except CallError:
            continue
        return asked
    return {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(upstream_rows, max_size=8), wheres, specs)
@example([], {}, {"metrics": [{"op": "sum", "field": "totalPrice"}]})
def test_the_database_says_what_memory_says(rows: list[dict[str, Any]], where: Any, spec: Any):
    keep(*rows)
    columns = replace(BOOKINGS.query_columns, sample=tuple)
    where, spec = readable(conditions.parse, where, columns), readable(aggregation.parse, spec, columns)
    check_same(where, spec, Booking, columns)
    asked = conditions.parse(where, columns)
    matching = {row["id"] for row in objects(Booking) if asked.match(row)}
    assert set(query.filtered(Booking.objects.all(), asked).values_list("id", flat=True)) == matching


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(values, st.dictionaries(names, values)), st.one_of(values, specs))
def test_any_json_value_is_answered_or_refused_by_design(where: Any, aggregate: Any):
    columns = replace(BOOKINGS.query_columns, sample=tuple)
    for asked_where, asked_aggregate in ((where, {}), ({}, aggregate)):
        try:
            found = from_database(Booking, asked_where, asked_aggregate, columns)
        except CallError as error:
            orjson.dumps(error.document())
        else:
            orjson.dumps(found.rows)


def test_upstreams_own_names_are_not_read_out_of_any_number_of_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(query, "MAX_READ", 100)
    columns = query.known_from(Booking, BOOKINGS.query_columns)
    for where, works in (
        ({"cleaningFee": {"gte": 1}}, False),
        ({"cleaningFee": {"gte": 1}, "id": {"lt": 43000050}}, True),
        ({"id": {"gte": 0}, "or": [{"adults": 1}, {"id": 43000001}]}, False),
        ({"nights": 2}, True),
    ):
        wanted = conditions.parse(where, columns)
        if works:
            assert query.filtered(Booking.objects.all(), wanted).count() >= 0
        else:
            with pytest.raises(InvalidArgument, match="more than 100 rows"):
                query.filtered(Booking.objects.all(), wanted)
    with monkeypatch.context() as patched:
        patched.setattr(query, "MAX_READ", Booking.objects.count())
        assert query.filtered(Booking.objects.all(), conditions.parse({"cleaningFee": {"gte": 1}}, columns)).exists()
    spec = aggregation.parse({"metrics": [{"op": "sum", "field": "cleaningFee"}]}, columns)
    with pytest.raises(InvalidArgument, match="more than 100 rows"):
        query.aggregated(Booking.objects.all(), spec)
    few = Booking.objects.filter(id__lt=43000050)
    assert query.aggregated(few, spec).rows[0]["sum_cleaningFee"] > 0
