"""`where` chooses rows by typed conditions, and says what is wrong with those it cannot read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.errors import CallError, InvalidArgument
from context_protection.core.fields import Field
from context_protection.core.query import conditions
from context_protection.core.query.columns import QueryColumn, QueryColumns, Type, read_as
from context_protection.core.redaction import Visibility
from context_protection.core.shapes import Shape
from tests.properties.payloads import values

ROWS: list[dict[str, Any]] = [
    {"id": 1, "state": "new", "price": 500, "day": "2026-11-20", "at": "2026-11-20 13:30:00", "paid": 1, "who": "Åse"},
    {
        "id": 2,
        "state": "old",
        "price": 0.3,
        "day": "2026-12-01",
        "at": "2026-12-01T00:00:00Z",
        "paid": 0,
        "who": "STRASSE",
    },
    {
        "id": 3,
        "state": None,
        "price": None,
        "day": None,
        "at": None,
        "paid": None,
        "who": None,
        "more": {"a": {"b": 5}},
    },
    {
        "id": 4,
        "state": 7,
        "price": "much",
        "day": "2026-02-30",
        "at": "soon",
        "paid": "yes",
        "who": ["Åse"],
        "a.b": "dots",
    },
]
SHAPE = Shape(
    row=(Field("id"), Field("label", "who")),
    withheld_in_lists=("phone",),
    known=frozenset({"known"}),
)
COLUMNS = QueryColumns(
    (
        QueryColumn("id", Type.NUMBER),
        QueryColumn("status", Type.TEXT, "state", convert=lambda state: "confirmed" if state == "new" else state),
        QueryColumn("price", Type.NUMBER),
        QueryColumn("checkIn", Type.DATE, "day"),
        QueryColumn("at", Type.MOMENT),
        QueryColumn("paid", Type.BOOLEAN),
        QueryColumn("guest", Type.TEXT, "who"),
    ),
    SHAPE,
    sample=lambda: [*ROWS, {"secretCode": 1, "phone": "5"}],
)


def matching(where: Any) -> list[int]:
    asked = conditions.parse(where, COLUMNS)
    return [row["id"] for row in ROWS if asked.match(row)]


def refused(where: Any) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as raised:
        conditions.parse(where, COLUMNS)
    assert raised.value.parameter == "where"
    assert raised.value.expected
    assert raised.value.suggestion
    return raised.value


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({}, [1, 2, 3, 4]),
        ({"price": 500}, [1]),
        ({"price": {"gte": 0.3, "lt": 500}}, [2]),
        ({"price": {"gt": 0.3}}, [1]),
        ({"price": {"lte": 0.3}}, [2]),
        ({"price": {"in": [0.3, 7]}}, [2]),
        ({"id": [1, 3]}, [1, 3]),
        ({"checkIn": {"gte": "2026-11-20"}}, [1, 2]),
        ({"at": "2026-11-20 13:30:00"}, [1]),
        ({"at": {"gt": "2026-11-20T14:00:00+02:00"}}, [1, 2]),
        ({"paid": True}, [1]),
        ({"paid": {"ne": True}}, [2, 3, 4]),
        ({"known": None}, [1, 2, 3, 4]),
        ({"label": {"contains": "åS"}}, [1, 2]),
        ({"price": 500, "paid": False}, []),
    ],
)
def test_rows_are_chosen(where: dict[str, Any], ids: list[int]):
    assert matching(where) == ids


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-20 13:30:07", "2026-11-20 13:30:07"),
        ("2026-11-20T13:30:07Z", "2026-11-20 13:30:07"),
        ("2026-11-20T13:30", "2026-11-20 13:30:00"),
        ("2026-11-20 13:30+02:00", "2026-11-20 13:30:00"),
        ("2026-11-20", "2026-11-20 00:00:00"),
        ("2026-11-20T13:30:7", None),
        ("2026-11-20T13:30:60", None),
        ("2026-11-20T13:300", None),
        ("2026-11-20T13", None),
    ],
)
def test_a_moment_is_read_as_upstream_wrote_it_with_its_seconds(written: str, read: str | None):
    assert read_as(written, Type.MOMENT) == read
    assert read_as(written, Type.DATE) == (read and "2026-11-20")


@pytest.mark.parametrize("op", ["like", "ilike", "$LIKE"])
@pytest.mark.parametrize("text", ["%tras%", "stras%", "%asse", "tras"])
def test_the_wildcards_at_the_ends_of_like_match_any_text(op: str, text: str):
    assert matching({"guest": {op: text}}) == [2]


def test_only_like_has_wildcards():
    assert matching({"guest": {"contains": "tras%"}}) == []


@pytest.mark.parametrize(("text", "part"), [("st%asse%", "asse"), ("st_asse", "st_asse")])
def test_like_with_another_wildcard_is_refused_with_contains_instead(text: str, part: str):
    error = refused({"guest": {"like": text}})
    assert "guest has a wildcard within its text" in error.message
    assert error.suggestion == f'Set where to {{"guest":{{"contains":"{part}"}}}}.'
    assert refused({"guest": {"like": text, "ne": "x"}}).suggestion == "Use contains with a part of the text."


@pytest.mark.parametrize(
    ("ids", "spellings"),
    [
        ([2], ["eq", "=", "==", "equals", "equal", "is", "$eq"]),
        ([1, 3], ["ne", "!=", "<>", "not", "neq", "not_equals"]),
        ([3], ["gt", ">", "greaterThan", "greater_than", "after"]),
        ([2, 3], ["gte", ">=", "ge", "min", "from", "greaterThanOrEqual"]),
        ([1], ["lt", "<", "lessThan", "before"]),
        ([1, 2], ["lte", "<=", "le", "max", "to", "lessThanOrEqual"]),
        ([2], ["in", "oneOf", "any_of"]),
    ],
)
def test_each_spelling_of_a_comparison_treats_the_limit_itself_as_it_says(ids: list[int], spellings: list[str]):
    prices = [{"id": 1, "price": 9}, {"id": 2, "price": 10}, {"id": 3, "price": 11}]
    for spelling in spellings:
        wanted = conditions.parse({"price": {spelling: 10}}, COLUMNS)
        assert [row["id"] for row in prices if wanted.match(row)] == ids, spelling


@pytest.mark.parametrize("spelling", ["contains", "icontains", "search", "like", "ilike"])
def test_each_spelling_of_contains_finds_a_part(spelling: str):
    assert matching({"guest": {spelling: "rass"}}) == [2]


@pytest.mark.parametrize("spelling", ["isnull", "null", "is_empty"])
def test_each_spelling_of_isnull_finds_nulls(spelling: str):
    assert matching({"status": {spelling: True}}) == [3, 4]


def test_a_condition_may_come_as_the_text_of_its_json():
    assert matching(json.dumps({"price": {"gte": 500}})) == [1]


def test_a_canonical_name_goes_before_upstreams_and_has_the_converted_value():
    assert matching({"status": "confirmed"}) == [1]
    assert matching({"state": "new"}) == [1]


def test_upstreams_own_name_of_a_declared_column_has_its_type():
    assert matching({"day": {"lt": "2026-12-01"}}) == [1]
    assert refused({"day": "soon"}).expected == "a date as YYYY-MM-DD"


def test_an_undeclared_name_is_read_as_what_it_is_compared_with():
    assert matching({"more.a.b": 5}) == [3]
    assert matching({"more.a.b": "b"}) == []
    assert matching({"more": {"isnull": False}}) == [3]


UNDECLARED: list[dict[str, Any]] = [
    {"id": 1, "number": 4, "code": "4", "flag": True, "made": "2026-11-20T23:59:59.5Z", "mixed": 4, "text": "true"},
    {"id": 2, "number": 14695981039346656037, "code": "5", "flag": False, "made": "2026-11-21 00:00:00", "mixed": "4"},
    {"id": 3, "number": "", "code": "", "flag": None, "made": "", "mixed": None, "text": "2026-11-20"},
]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"number": "4"}, [1]),
        ({"number": "14695981039346656037"}, [2]),
        ({"number": {"ne": "4"}}, [2, 3]),
        ({"number": {"in": "4,5"}}, [1]),
        ({"number": {"gte": "4.5"}}, [2]),
        ({"number": {"in": [4, "5"]}}, [1]),
        ({"number": ""}, [3]),
        ({"number": "four"}, []),
        ({"code": "4"}, [1]),
        ({"code": 4}, [1]),
        ({"code": [4, "5"]}, [1, 2]),
        ({"code": {"gte": 4}}, []),
        ({"flag": "true"}, [1]),
        ({"flag": {"ne": "TRUE"}}, [2, 3]),
        ({"mixed": "4"}, [2]),
        ({"mixed": 4}, [1]),
        ({"text": "true"}, [1]),
        ({"text": "2026-11-20"}, [3]),
        ({"made": "2026-11-20"}, [1]),
        ({"made": {"lte": "2026-11-20"}}, [1]),
        ({"made": {"gt": "2026-11-20"}}, [2]),
        ({"made": {"gte": "2026-11-20", "lt": "2026-11-21"}}, [1]),
        ({"made": "2026-11-20T23:59:59.5Z"}, [1]),
        ({"made": {"gte": "2026-11-21 00:00:00"}}, [2]),
        ({"made": {"contains": "2026-11-2"}}, [1, 2]),
        ({"made": ""}, [3]),
    ],
)
def test_a_value_is_compared_with_an_undeclared_field_as_what_all_rows_have_there(where: Any, ids: list[int]):
    asked = conditions.parse(where, QueryColumns(sample=lambda: UNDECLARED))
    assert [row["id"] for row in UNDECLARED if asked.match(row)] == ids


@pytest.mark.parametrize("written", ["{} {}", "{} {}Z", "{}T{}", "{}T{}Z", "{}T{}.000Z"])
@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"gte": "2026-11-20T10:00:00Z"}, [2, 3]),
        ({"gte": "2026-11-20 10:00:00"}, [2, 3]),
        ({"lt": "2026-11-20T12:00:00+02:00"}, [1]),
        ({"gt": "2026-11-20T10:00:00"}, [3]),
        ({"lte": "2026-11-20T10:00"}, [1, 2]),
    ],
)
def test_a_moment_is_compared_with_an_undeclared_one_however_both_are_written(written: str, where: Any, ids: list[int]):
    times = ["09:59:59", "10:00:00", "23:00:00"]
    rows = [{"id": number, "made": written.format("2026-11-20", time)} for number, time in enumerate(times, start=1)]
    asked = conditions.parse({"made": where}, QueryColumns(sample=lambda: rows))
    assert [row["id"] for row in rows if asked.match(row)] == ids


def test_undeclared_moments_in_local_time_are_compared_as_written():
    rows = [{"made": "2026-11-20T23:30:00-05:00"}, {"made": "2026-11-20T22:30:00-05:00"}]
    asked = conditions.parse({"made": {"gte": rows[0]["made"]}}, QueryColumns(sample=lambda: rows))
    assert [asked.match(row) for row in rows] == [True, False]


def test_a_name_with_dots_goes_before_the_path():
    assert matching({"a.b": "dots"}) == [4]


def test_null_is_isnull_and_matches_ne_but_nothing_else():
    assert matching({"guest": None}) == matching({"guest": {"isnull": True}}) == [3, 4]
    assert matching({"guest": {"ne": None}}) == [1, 2]
    assert matching({"price": {"ne": 500}}) == [2, 3, 4]
    assert matching({"price": {"lt": 10**9}}) == [1, 2]


def test_values_of_another_type_count_as_null():
    assert matching({"checkIn": None}) == [3, 4]
    assert matching({"price": None}) == [3, 4]


@pytest.mark.parametrize("asked", ["straße", "strasse", "STRASSE", "ras"])
def test_contains_looks_at_no_case_in_any_script(asked: str):
    assert matching({"guest": {"contains": asked}}) == [2]


def test_a_date_given_for_a_moment_means_its_whole_day():
    assert matching({"at": "2026-11-20"}) == [1]
    assert matching({"at": {"lte": "2026-11-20"}}) == [1]
    assert matching({"at": {"gt": "2026-11-20"}}) == [2]


def test_one_of_the_alternatives_of_or_must_hold():
    assert matching({"or": [{"price": 500}, {"checkIn": None}], "id": {"lt": 4}}) == [1, 3]
    assert matching({"or": [{"id": {"gt": 1, "lt": 3}}]}) == [2]


@pytest.mark.parametrize(
    "where",
    [
        [],
        "no json",
        None,
        5,
        {"price": "much"},
        {"price": float("nan")},
        {"price": 10**400},
        {"price": True},
        {"price": {}},
        {"price": {"gte": None}},
        {"price": {"contains": 5}},
        {"price": {"in": []}},
        {"id": {"in": list(range(201))}},
        {"price": {"isnull": 1}},
        {"price": {"notnull": 1}},
        {"paid": {"gt": True}},
        {"paid": 1},
        {"checkIn": "2026-02-30"},
        {"at": "2026-W47-1"},
        {"at": "0001-01-01T00:00:00+05:00"},
        {"at": {"in": ["2026-11-20", "2026-11-20 10:00:00"]}},
        {"guest": "x" * 201},
        {"guest": "\0"},
        {"guest": "\ud800"},
        {"more.a.b": {"in": [1, "b"]}},
        {"more.a.b": {"eq": {"a": 1}}},
        {"or": []},
        {"or": {}},
        {"or": [{}]},
        {"or": [{"or": [{"id": 1}]}]},
        {"or": [{"id": 1}] * 21},
    ],
)
def test_what_cannot_be_compared_is_refused(where: Any):
    assert refused(where).reason == "invalid_where"


def test_an_unknown_comparison_is_named_with_the_nearest():
    assert refused({"price": {"gtee": 5}}).suggestion == 'Set where to {"price":{"gte":5}}.'


@pytest.mark.parametrize(
    "op", ["nin", "$nin", "notIn", "not in", "not_contains", "doesNotContain", "nlike", "isnot", "ncontains"]
)
def test_a_negated_comparison_is_never_corrected_to_its_opposite(op: str):
    error = refused({"guest": {op: "Ada"}, "price": 5})
    assert error.suggestion == "Use ne, or isnull with false. No other comparison can be negated."
    assert error.expected.startswith("any of: eq, ne")


@pytest.mark.parametrize("op", ["regex", "begins", "matches"])
def test_a_comparison_that_is_like_none_is_corrected_to_none(op: str):
    error = refused({"guest": {op: "Ada"}})
    assert error.suggestion == "Leave where out, or use what is expected."


def test_an_unknown_name_is_answered_with_the_nearest():
    error = refused({"chekIn": "2026-01-01"})
    assert error.reason == "unknown_field"
    assert error.suggestion == 'Set where to {"checkIn":"2026-01-01"}.'


def test_a_suggestion_corrects_all_mistakes_of_a_document():
    error = refused({"prcie": {"gteq": 5}, "colour": "red", "or": [{"stattus": "confirmed"}, {"checkIn": "soon"}]})
    assert error.suggestion == 'Set where to {"price":{"gte":5},"or":[{"status":"confirmed"}]}.'
    assert refused({"colour": "red"}).suggestion == "Leave where out, or use what is expected."


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"PRICE": "1.5"}, {"price": 1.5}),
        ({"check_in": {"GTE": "2026-01-01"}}, {"checkIn": {"gte": "2026-01-01"}}),
        ({"price": {">=": 1}}, {"price": {"gte": 1}}),
        ({"price": {"$lt": 1}}, {"price": {"lt": 1}}),
        ({"id": {"in": "1, 2"}}, {"id": {"in": [1, 2]}}),
        ({"id": {"in": 2}}, {"id": {"in": [2]}}),
        ({"guest": {"contains": ["s"]}}, {"guest": {"contains": "s"}}),
        ({"checkIn": {"gte": "2026-01-01T10:00:00Z"}}, {"checkIn": {"gte": "2026-01-01"}}),
        ({"paid": "true"}, {"paid": True}),
        ({"guest": {"isnull": "false"}}, {"guest": {"isnull": False}}),
        ({"guest": {"notnull": True}}, {"guest": {"isnull": False}}),
        ({"guest": {"is_not_null": "false"}}, {"guest": {"isnull": True}}),
    ],
)
def test_what_is_clear_is_accepted(given: Any, meant: Any):
    assert matching(given) == matching(meant)


@pytest.mark.parametrize("name", ["doorCode", "door_code", "doorCode.below", "more.doorCode", "entryCode"])
def test_what_is_withheld_cannot_be_asked_whether_rows_have_it_or_not(name: str):
    error = refused({name: {"isnull": False}})
    assert error.reason == "withheld_field"
    assert "Revealed fields" in error.message


def test_what_is_withheld_is_never_suggested():
    columns = QueryColumns(sample=lambda: [{"doorCode": "[withheld: door code]", "doorColour": "red"}])
    with pytest.raises(InvalidArgument) as error:
        conditions.parse({"doorCod": 1}, columns)
    assert "doorCode" not in f"{error.value.expected} {error.value.suggestion}"


def test_what_is_revealed_can_be_asked():
    columns = QueryColumns(sample=lambda: [{"doorCode": "1234"}], visibility=Visibility(frozenset({"doorCode"})))
    assert conditions.parse({"doorCode": "1234"}, columns).match({"doorCode": "1234"})


def test_what_is_withheld_in_lists_may_be_filtered_by():
    assert conditions.parse({"phone": "5"}, COLUMNS).match({"phone": "5"})


@given(st.one_of(values, st.dictionaries(st.sampled_from(["price", "at", "or", "guest", "x"]), values)))
def test_any_json_value_gives_conditions_or_a_designed_error(where: Any):
    try:
        asked = conditions.parse(where, COLUMNS)
    except CallError as error:
        json.dumps(error.document()).encode()
    else:
        assert len(asked) <= conditions.MAX_CONDITIONS
        assert all(asked.match(row) in (True, False) for row in ROWS)


def test_a_long_where_is_refused_since_every_page_would_repeat_it():
    columns = QueryColumns()
    assert len(conditions.parse({"id": {"in": list(range(10_000_000, 10_000_200))}}, columns).every) == 1
    for long in ({"name": {"in": ["x" * 100 + str(n) for n in range(60)]}}, '{"name":"' + "x" * 5000 + '"}'):
        with pytest.raises(InvalidArgument) as refused:
            conditions.parse(long, columns)
        assert refused.value.reason == "invalid_where"
