"""Order of tables, and what an export has of them."""

import csv
import io
import json

from django.test import RequestFactory

from telemetry.pages.address import Address
from telemetry.pages.export import csv_lines, json_lines
from telemetry.pages.tables import Cell, Table, TableColumn, TablePage, table

COLUMNS = (TableColumn("name", "Name", is_number=False), TableColumn("n", "N"))
ROWS = (
    (Cell("b"), Cell("1", value=1)),
    (Cell("a"), Cell("–")),
    (Cell("c"), Cell("12.3k", value=12_300)),
)


def shown(query: str) -> list[str]:
    address = Address.of(RequestFactory().get(f"/telemetry/x/?{query}"))
    made = table(address, key="x", title="X", columns=COLUMNS, rows=ROWS, sort="-n")
    return [row[0].text for row in made.rows]


def test_rows_are_sorted_by_values_and_those_without_come_last():
    assert shown("") == ["c", "b", "a"]
    assert shown("sort=n") == ["b", "c", "a"]
    assert shown("sort=name") == ["a", "b", "c"]
    assert shown("sort=nosuch") == ["c", "b", "a"]


def test_words_among_figures_count_as_larger_than_any_figure():
    address = Address.of(RequestFactory().get("/telemetry/x/"))
    rows = [*ROWS, (Cell("d"), Cell("new"))]
    for sort, names in (("-n", ["d", "c", "b", "a"]), ("n", ["b", "c", "d", "a"])):
        made = table(address, key="x", title="X", columns=COLUMNS, rows=rows, sort=sort)
        assert [row[0].text for row in made.rows] == names


def long_table(query: str = "", *, rows: int = 120, **options: bool) -> Table:
    address = Address.of(RequestFactory().get(f"/telemetry/x/?{query}"))
    many = [(Cell(f"{n:03}"), Cell(f"{n}", value=n)) for n in range(rows)]
    return table(address, key="x", title="X", columns=COLUMNS, rows=many, sort="-n", **options)


def names(made: Table) -> list[str]:
    return [row[0][1].text for row in made.shown]


def test_a_table_that_is_exported_leaves_out_rows():
    made = long_table(is_exported=True)
    assert (len(made.shown), made.is_cut, made.count, made.page) == (50, True, 120, None)
    assert made.export.endswith("&export=csv")


def test_a_long_table_without_an_export_has_pages_that_keep_filters_and_order():
    first = long_table("sort=name&tool=look&range=7d")
    assert (names(first)[0], names(first)[-1], first.count) == ("000", "049", 120)
    assert first.page == TablePage(1, 50, 120, "", "/telemetry/x/?range=7d&sort=name&cursor=x:2&tool=look")
    last = long_table("sort=name&tool=look&range=7d&cursor=x:3")
    assert names(last) == [f"{n}" for n in range(100, 120)]
    assert last.page == TablePage(101, 120, 120, "/telemetry/x/?range=7d&sort=name&cursor=x:2&tool=look", "")
    assert all("cursor" not in heading.sort for heading in last.headings), "another order begins at its first page"


def test_a_page_that_is_none_is_the_nearest_one_and_the_page_of_another_table_is_not_ours():
    assert names(long_table("cursor=x:99"))[-1] == "000"
    for cursor in ("x:", "x:nowhere", "other:2", "before:2026-11-24"):
        assert names(long_table(f"cursor={cursor}"))[0] == "119", cursor


def test_a_short_table_and_one_on_the_answer_to_a_form_have_no_pages():
    for made in (long_table(rows=50), long_table(is_whole=True)):
        assert (len(made.shown), made.page) == (made.count, None)


def test_an_export_has_values_and_not_words():
    rows = [[cell.raw for cell in row] for row in ROWS]
    read = list(csv.reader(io.StringIO("".join(csv_lines(["name", "n"], rows)))))
    assert read == [["name", "n"], ["b", "1"], ["a", ""], ["c", "12300"]]
    assert json.loads("".join(json_lines(["name", "n"], rows)))[1] == {"name": "a", "n": None}


def test_numbers_below_zero_stay_numbers_in_a_spreadsheet():
    lines = "".join(csv_lines(["a", "b"], [[-5, "-5"], ["@x", "\t=1"]]))
    assert "-5,'-5" in lines
    assert "'@x,'\t=1" in lines
