"""Order of tables, and what an export has of them."""

import csv
import io
import json

from django.test import RequestFactory

from telemetry.pages.address import Address
from telemetry.pages.export import csv_lines, json_lines
from telemetry.pages.tables import Cell, TableColumn, table

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


def test_an_export_has_values_and_not_words():
    rows = [[cell.raw for cell in row] for row in ROWS]
    read = list(csv.reader(io.StringIO("".join(csv_lines(["name", "n"], rows)))))
    assert read == [["name", "n"], ["b", "1"], ["a", ""], ["c", "12300"]]
    assert json.loads("".join(json_lines(["name", "n"], rows)))[1] == {"name": "a", "n": None}


def test_numbers_below_zero_stay_numbers_in_a_spreadsheet():
    lines = "".join(csv_lines(["a", "b"], [[-5, "-5"], ["@x", "\t=1"]]))
    assert "-5,'-5" in lines
    assert "'@x,'\t=1" in lines
