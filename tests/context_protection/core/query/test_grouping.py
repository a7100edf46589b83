"""`aggregate` counts, sums and ranks rows by groups, exactly."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.errors import CallError, InvalidArgument
from context_protection.core.query import aggregation, grouping
from context_protection.core.query.aggregation import Groups
from context_protection.core.query.buckets import Bucket, bucketed
from context_protection.core.query.columns import QueryColumn, QueryColumns, Type
from context_protection.core.shapes import Shape
from tests.properties.payloads import values

COLUMNS = QueryColumns(
    (
        QueryColumn("home", Type.NUMBER),
        QueryColumn("day", Type.DATE),
        QueryColumn("at", Type.MOMENT),
        QueryColumn("paid", Type.BOOLEAN),
        QueryColumn("guest", Type.TEXT),
        QueryColumn("price", Type.NUMBER, unit="currency"),
        QueryColumn("tax", Type.NUMBER, unit="currency"),
        QueryColumn("currency", Type.TEXT, "currencyCode"),
    ),
    Shape(withheld_in_lists=("phone",)),
)
ROWS: list[dict[str, Any]] = [
    {
        "home": 1,
        "day": "2026-01-31",
        "at": "2026-01-31 09:15:00",
        "price": 0.1,
        "currencyCode": "EUR",
        "paid": 1,
        "x": 1,
    },
    {
        "home": 1,
        "day": "2026-11-20",
        "at": "2026-11-20 13:30:00",
        "price": 0.2,
        "currencyCode": "EUR",
        "paid": True,
        "x": 1.0,
    },
    {
        "home": 2,
        "day": "2027-01-01",
        "at": "2027-01-01 00:00:00",
        "price": 10,
        "currencyCode": "EUR",
        "paid": 0,
        "x": True,
    },
    {"home": 2, "day": None, "at": None, "price": None, "currencyCode": None, "paid": None, "x": None},
    {"home": None, "day": "2026-11-22", "at": "2026-11-22", "price": 40, "currencyCode": "EUR", "x": "1"},
]


def answered(aggregate: Any, rows: list[dict[str, Any]] | None = None) -> Groups:
    rows = ROWS if rows is None else rows
    return grouping.aggregate(rows, aggregation.parse(aggregate, replace(COLUMNS, sample=lambda: rows)))


def groups(aggregate: Any, rows: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    return answered(aggregate, rows).rows


def figure(op: str, field: str, values: list[Any], **more: Any) -> Any:
    (group,) = groups({"metrics": [{"op": op, "field": field, "as": "figure", **more}]}, [{field: v} for v in values])
    return group["figure"]


def refused(aggregate: Any) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as raised:
        aggregation.parse(aggregate, replace(COLUMNS, sample=lambda: [*ROWS, {"phone": "5", "secretCode": 1}]))
    assert raised.value.parameter == "aggregate"
    assert raised.value.expected
    assert raised.value.suggestion
    return raised.value


def test_without_metrics_rows_are_counted():
    assert groups({}) == [{"count": 5}]
    assert groups({"groupBy": ["home"]}) == [
        {"home": 1, "count": 2},
        {"home": 2, "count": 2},
        {"home": None, "count": 1},
    ]


def test_it_may_come_as_the_text_of_its_json():
    assert groups('{"groupBy":"paid"}') == [
        {"paid": False, "count": 1},
        {"paid": True, "count": 2},
        {"paid": None, "count": 2},
    ]


@pytest.mark.parametrize(
    ("bucket", "spans"),
    [
        ("hour", ["2026-01-31T09", "2026-11-20T13", "2026-11-22T00", "2027-01-01T00", None]),
        ("day", ["2026-01-31", "2026-11-20", "2026-11-22", "2027-01-01", None]),
        ("week", ["2026-W05", "2026-W47", "2026-W53", None]),
        ("month", ["2026-01", "2026-11", "2027-01", None]),
        ("quarter", ["2026-Q1", "2026-Q4", "2027-Q1", None]),
        ("year", ["2026", "2027", None]),
    ],
)
def test_moments_fall_in_spans_of_time(bucket: str, spans: list[str | None]):
    assert [group["at"] for group in groups({"groupBy": [{"field": "at", "bucket": bucket}]})] == spans


@pytest.mark.parametrize(("quarter", "months"), [(1, (1, 2, 3)), (2, (4, 5, 6)), (3, (7, 8, 9)), (4, (10, 11, 12))])
def test_each_month_falls_in_its_quarter(quarter: int, months: tuple[int, ...]):
    assert {bucketed(f"2026-{month:02}-01", Bucket.QUARTER) for month in months} == {f"2026-Q{quarter}"}


def test_a_date_falls_in_the_same_spans():
    assert [group["day"] for group in groups({"groupBy": [{"field": "day", "bucket": "week"}]})][:2] == [
        "2026-W05",
        "2026-W47",
    ]


def test_sums_are_exact():
    assert figure("sum", "tax", [0.1, 0.2]) == 0.3
    assert figure("sum", "tax", [0.1] * 10) == 1
    assert figure("sum", "x", [1e300, 0.1, -1e300]) == 0.1
    assert figure("sum", "x", ["1", True, None, [], 2]) == 2


def test_whole_numbers_come_without_a_fraction():
    assert repr(figure("sum", "x", [1.5, 1.5])) == "3"
    assert repr(figure("max", "x", [2.0])) == "2"


@pytest.mark.parametrize("number", [2**63 + 5, 2**64 - 1])
def test_a_whole_number_of_64_bits_keeps_all_its_digits(number: int):
    rows = [{"hash": number}, {"hash": number - 1}]
    asked = {"groupBy": ["hash"], "metrics": [{"op": "max", "field": "hash", "as": "largest"}]}
    assert groups(asked, rows) == [{"hash": each, "largest": each} for each in (number - 1, number)]


def test_averages_have_six_decimals_at_most():
    assert figure("avg", "x", [1, 1, 2]) == 1.333333
    assert figure("avg", "x", [1, 2]) == 1.5


@pytest.mark.parametrize(
    ("op", "more", "expected"),
    [
        ("median", {}, 2.5),
        ("p50", {}, 2.5),
        ("p75", {}, 3.25),
        ("p90", {}, 3.7),
        ("p95", {}, 3.85),
        ("p99", {}, 3.97),
        ("p10", {}, 1.3),
        ("P25", {}, 1.75),
        ("p1", {}, 1.03),
        ("percentile", {"p": 0}, 1),
        ("percentile", {"p": 1}, 4),
        ("percentile", {"p": 0.1}, 1.3),
    ],
)
def test_percentiles_lie_between_the_nearest_ranks(op: str, more: dict[str, Any], expected: float):
    assert figure(op, "x", [4, 1, None, 3, 2], **more) == expected


def test_nothing_sums_up_to_null_and_counts_as_none():
    metrics = [{"op": op, "field": "x"} for op in ("count", "countDistinct", "sum", "avg", "min", "max", "median")]
    assert groups({"metrics": metrics}, []) == [
        {
            "count_x": 0,
            "countDistinct_x": 0,
            "sum_x": None,
            "avg_x": None,
            "min_x": None,
            "max_x": None,
            "median_x": None,
        }
    ]
    assert groups({"groupBy": ["x"]}, []) == []


def test_one_and_true_are_different_values_but_one_and_one_point_zero_are_not():
    assert groups({"groupBy": ["x"]}) == [
        {"x": 1, "count": 2},
        {"x": "1", "count": 1},
        {"x": True, "count": 1},
        {"x": None, "count": 1},
    ]
    assert figure("countDistinct", "x", [1, 1.0, True, "1", None]) == 3


def test_of_mixed_values_min_and_max_are_the_numbers_else_the_texts():
    assert figure("min", "x", ["a", 3, 2, True]) == 2
    assert figure("max", "x", ["a", "b", None, [], False]) == "b"


def test_groups_come_in_the_asked_order_with_null_last_and_equal_ones_by_their_keys():
    asked = {"groupBy": ["home"], "metrics": [{"op": "max", "field": "day"}, {"op": "count"}]}
    assert [group["home"] for group in groups({**asked, "orderBy": "-home"})] == [2, 1, None]
    assert [group["home"] for group in groups({**asked, "orderBy": "-count"})] == [1, 2, None]
    assert [group["home"] for group in groups({**asked, "orderBy": "max_day"})] == [1, None, 2]
    assert [group["home"] for group in groups({**asked, "orderBy": "-max_day", "limit": 2})] == [2, None]


def test_one_field_may_be_grouped_by_twice_under_two_names():
    by = [{"field": "day", "bucket": "year", "as": "year"}, {"field": "day", "bucket": "month"}]
    assert groups({"groupBy": by, "limit": 1}) == [{"year": "2026", "day": "2026-01", "count": 1}]


def test_amounts_in_one_currency_are_summed_and_the_currency_is_named():
    answer = answered({"metrics": [{"op": "sum", "field": "price", "as": "revenue"}]})
    assert answer.rows == [{"revenue": 50.3}]
    assert answer.notes == ("revenue: currency is EUR in all rows.",)


def test_amounts_in_several_currencies_are_grouped_by_the_currency_too():
    rows = [*ROWS, {"home": 1, "price": 99, "currencyCode": "USD"}]
    asked = {"groupBy": ["home"], "metrics": [{"op": "sum", "field": "price", "as": "revenue"}], "orderBy": "-revenue"}
    answer = answered(asked, rows)
    assert answer.rows[:2] == [
        {"home": 1, "currency": "USD", "revenue": 99},
        {"home": None, "currency": "EUR", "revenue": 40},
    ]
    assert len(answer.notes) == 1
    assert answered({**asked, "groupBy": ["home", "currency"]}, rows).rows == answer.rows
    assert answered({**asked, "groupBy": ["currencyCode"]}, rows).notes == ()


def test_counting_does_not_care_for_currencies():
    rows = [*ROWS, {"price": 99, "currencyCode": "USD"}]
    assert groups({"metrics": [{"op": "countDistinct", "field": "price"}]}, rows) == [{"countDistinct_price": 5}]


def test_too_many_groups_need_a_limit():
    rows = [{"home": number} for number in range(grouping.GROUPS_WITHOUT_LIMIT + 1)]
    with pytest.raises(InvalidArgument, match="more than 10,000 groups"):
        groups({"groupBy": ["home"]}, rows)
    assert groups({"groupBy": ["home"], "orderBy": "-home", "limit": 1}, rows) == [{"home": len(rows) - 1, "count": 1}]


@pytest.mark.parametrize(
    "aggregate",
    [
        [],
        "no json",
        {"by": ["home"]},
        {"groupBy": [5]},
        {"groupBy": [{"bucket": "month"}]},
        {"groupBy": ["home", "day", "at", "paid", "guest"]},
        {"groupBy": ["home", "home"]},
        {"groupBy": [{"field": "home", "bucket": "month"}]},
        {"groupBy": [{"field": "day", "bucket": "hour"}]},
        {"groupBy": [{"field": "day", "bucket": "decade"}]},
        {"groupBy": [{"field": "day", "bucket": []}]},
        {"groupBy": [{"field": "day", "span": "month"}]},
        {"metrics": [{"field": "price"}]},
        {"metrics": [{"op": "spread", "field": "price"}]},
        {"metrics": [{"op": "sum"}]},
        {"metrics": [{"op": "sum", "field": "guest"}]},
        {"metrics": [{"op": "min", "field": "paid"}]},
        {"metrics": [{"op": "sum", "field": "price", "p": 0.5}]},
        {"metrics": [{"op": "percentile", "field": "price"}]},
        {"metrics": [{"op": "percentile", "field": "price", "p": 900}]},
        {"metrics": [{"op": "percentile", "field": "price", "p": float("nan")}]},
        {"metrics": [{"op": "count", "as": "-count"}]},
        {"metrics": [{"op": "count", "as": "x" * 61}]},
        {"metrics": [{"op": "count", "as": "\0"}]},
        {"metrics": [{"op": "count"}, {"op": "count"}]},
        {"metrics": [{"op": "count"}] * 11},
        {"groupBy": ["home"], "metrics": [{"op": "count", "as": "home"}]},
        {"metrics": [{"op": "sum", "field": "price", "as": "currency"}]},
        {"orderBy": "revenue"},
        {"orderBy": ["count", "status"]},
        {"limit": 0},
        {"limit": 1001},
        {"limit": True},
        {"limit": "many"},
    ],
)
def test_what_cannot_be_reckoned_is_refused(aggregate: Any):
    assert refused(aggregate).reason == "invalid_aggregate"


def test_errors_name_the_nearest_valid_word():
    def corrected(aggregate: Any) -> Any:
        return json.loads(refused(aggregate).suggestion.removeprefix("Set aggregate to ").removesuffix("."))

    assert corrected({"groupBy": ["guesst"]}) == {"groupBy": ["guest"]}
    metrics = [{"op": "summ", "field": "price"}, {"op": "median"}]
    assert corrected({"metrics": metrics}) == {"metrics": [{"op": "sum", "field": "price"}]}
    assert corrected({"orderBy": "-cuont"}) == {"orderBy": "-count"}
    assert corrected({"gruopBy": ["home"], "having": 1}) == {"groupBy": ["home"]}
    assert corrected({"limit": 5000}) == {"limit": 1000}


@pytest.mark.parametrize("op", ["range", "p"])
def test_an_unknown_metric_without_a_near_name_is_not_corrected_to_a_count(op: str):
    error = refused({"metrics": [op]})
    assert error.suggestion.startswith("Send any of: count, ")


@pytest.mark.parametrize("op", ["p0", "p100", "p999", "p99.9"])
def test_another_percentile_is_never_corrected_to_one_that_has_a_name(op: str):
    error = refused({"metrics": [{"op": op, "field": "price"}]})
    assert error.suggestion == 'Use {"op":"percentile","p":0.999,"field":"…"}, with p from 0 to 1.'


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"group_by": "HOME"}, {"groupBy": ["home"]}),
        ({"groupBy": "home, day"}, {"groupBy": ["home", "day"]}),
        ({"groupBy": [{"field": "day", "bucket": "Month"}]}, {"groupBy": [{"field": "day", "bucket": "month"}]}),
        ({"metrics": {"op": "SUM", "field": "Price"}}, {"metrics": [{"op": "sum", "field": "price"}]}),
        ({"metrics": [{"op": "average", "field": "price"}]}, {"metrics": [{"op": "avg", "field": "price"}]}),
        ({"metrics": [{"op": "count", "field": "*"}]}, {"metrics": [{"op": "count"}]}),
        (
            {"metrics": [{"op": "percentile", "field": "price", "p": 90}]},
            {"metrics": [{"op": "percentile", "field": "price", "p": 0.9}]},
        ),
        ({"groupBy": ["home"], "orderBy": "COUNT desc"}, {"groupBy": ["home"], "orderBy": "-count"}),
        ({"orderBy": {"field": "count", "direction": "desc"}}, {"orderBy": "-count"}),
        ({"groupBy": ["home"], "limit": "2"}, {"groupBy": ["home"], "limit": 2}),
    ],
)
def test_what_is_clear_is_accepted(given: Any, meant: Any):
    assert groups(given) == groups(meant)


def test_what_is_withheld_is_refused():
    assert refused({"groupBy": ["doorCode"]}).reason == "withheld_field"
    assert refused({"metrics": [{"op": "max", "field": "doorCode"}]}).reason == "withheld_field"


@pytest.mark.parametrize("op", ["min", "max", "countDistinct", "avg", "median"])
def test_what_is_withheld_in_lists_is_counted_but_not_shown(op: str):
    assert "withheld" in refused({"groupBy": ["phone"]}).message
    assert "withheld" in refused({"metrics": [{"op": op, "field": "phone"}]}).message
    assert figure("count", "phone", ["5", None]) == 1


entries = st.dictionaries(
    st.sampled_from(["op", "field", "as", "p", "bucket"]),
    st.one_of(values, st.sampled_from(["count", "sum", "percentile", "price", "day", "month", 0.5])),
)


@given(
    st.one_of(
        values,
        st.dictionaries(
            st.sampled_from(["groupBy", "metrics", "orderBy", "limit"]),
            st.one_of(values, st.lists(entries, max_size=3)),
        ),
    )
)
def test_any_json_value_gives_groups_or_a_designed_error(aggregate: Any):
    try:
        json.dumps(groups(aggregate), allow_nan=False)
    except CallError as error:
        json.dumps(error.document()).encode()
