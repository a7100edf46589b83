"""A list's statement is the one that Django compiles, although Django compiles only its conditions."""

from typing import Any

import pytest
from django.core.exceptions import EmptyResultSet
from django.db.models import Count, F, Q, QuerySet, Value
from django.db.models.functions import Lower

from context_protection.orm import statements
from gateway.connectors.hostaway.models import Booking, TextPiece

pytestmark = pytest.mark.django_db

COLUMNS = ("pk", "currency")
ORDER = ("-inserted_on", "status", "-id")
PLAIN = [
    Q(total_price__gte=10),
    Q(status="new", total_price__lt=3),
    Q(status="new") | ~Q(status__in=["modified", "cancelled"]),
    Q(guest_name__icontains="100% _\\"),
    Q(guest_name__isnull=True) & Q(total_price=F("property_id")),
    ~(Q(status="new") & Q(pk__in=[1, 2, 3])),
    Q(pk__in=Booking.objects.filter(status="new").order_by().values("pk")),
    ~Q(pk__in=[]),
    ~Q(pk__in=[]) & Q(status="new"),
]
OTHERS = {
    "everything": Booking.objects.all,
    "with another table": lambda: Booking.objects.filter(status="new").extra(tables=["hostaway_listing"]),
    "locked": lambda: Booking.objects.filter(status="new").select_for_update(),
    "annotated": lambda: Booking.objects.alias(name=Lower("guest_name")).filter(name="a"),
    "distinct": lambda: Booking.objects.filter(status="new").distinct(),
    "grouped": lambda: Booking.objects.values("status").annotate(n=Count("pk")).filter(status="new"),
    "counted": lambda: Booking.objects.values("status").annotate(n=Count("pk")).filter(n__gt=1),
    "reversed": lambda: Booking.objects.filter(status="new").reverse(),
    "another constant": lambda: Booking.objects.filter(Q(Value(True))),
}


def by_django(
    rows: QuerySet[Any], columns: tuple[str, ...] = COLUMNS, order: tuple[str, ...] = ORDER
) -> tuple[str, list[Any]]:
    sql, parameters = rows.order_by(*order).values_list(*columns).query.get_compiler(rows.db).as_sql()
    return sql, list(parameters)


def selected(
    rows: QuerySet[Any], columns: tuple[str, ...] = COLUMNS, order: tuple[str, ...] = ORDER, most: int | None = None
) -> tuple[str, list[Any]]:
    sql, parameters = statements._select(rows, columns, order, most)
    return sql, list(parameters)


@pytest.mark.parametrize("condition", PLAIN)
def test_only_the_conditions_of_a_plain_filter_are_compiled(condition: Q):
    rows = Booking.objects.filter(condition)
    assert statements._only_filters(rows.query)
    assert selected(rows) == by_django(rows)
    assert "LIMIT 7" in selected(rows, most=7)[0]


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_queryset_is_compiled_by_django(name: str):
    rows = OTHERS[name]()
    assert selected(rows) == by_django(rows)


def test_conditions_on_another_table_are_compiled_by_django():
    rows = TextPiece.objects.filter(content__chars=3)
    columns, order = ("number",), ("-number",)
    assert selected(rows, columns, order) == by_django(rows, columns, order)


def test_a_union_is_compiled_by_django():
    new, every = Booking.objects.filter(status="new"), Booking.objects.all()
    assert not statements._only_filters(new.union(every).query)


def test_a_key_of_two_columns_is_no_obstacle():
    rows = TextPiece.objects.filter(number=1)
    columns, order = ("number", "first_line"), ("-first_line",)
    assert statements._only_filters(rows.query)
    assert selected(rows, columns, order) == by_django(rows, columns, order)


def test_a_part_of_a_queryset_has_no_other_order():
    with pytest.raises(TypeError, match="slice"):
        selected(Booking.objects.filter(status="new")[:5])


def test_no_statement_is_run_where_no_row_can_match():
    rows = Booking.objects.filter(pk__in=[])
    with pytest.raises(EmptyResultSet):
        selected(rows)
    assert list(statements.unconverted(rows, COLUMNS, ORDER, None, 10)) == []


AMOUNTS = (0, 7, -1250, 0.1, 3083.88, -12.3456, 0.0001, 12345678901.2345, 99999999999999.1, None)


def test_decimals_are_those_that_django_reads():
    for row, amount in zip(Booking.objects.order_by("pk"), AMOUNTS, strict=False):
        Booking.objects.filter(pk=row.pk).update(total_price=amount)
    keys = list(Booking.objects.order_by("pk").values_list("pk", flat=True)[: len(AMOUNTS)])
    columns = ("pk", "total_price", "status", "check_in")
    read = statements.statement(Booking, columns, len(keys)).rows(keys)
    expected = list(Booking.objects.filter(pk__in=keys).values_list(*columns))
    assert sorted(map(repr, read)) == sorted(map(repr, expected))
    assert len(read) == len(AMOUNTS)
