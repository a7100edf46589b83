"""Exports of a table: all of its rows, as CSV or JSON, streamed."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from telemetry.pages.tables import Table

FORMS = ("csv", "json")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes cells that begin so


def wanted(request: HttpRequest) -> str:
    """csv, json, or "" for the page."""
    form = request.GET.get("export", "")
    return form if form in FORMS else ""


def exported(table: Table, form: str, name: str) -> StreamingHttpResponse:
    keys = [column.key for column in table.columns]
    return stream(keys, ([cell.raw for cell in row] for row in table.rows), form, name)


def stream(keys: Sequence[str], rows: Iterable[Sequence[Any]], form: str, name: str) -> StreamingHttpResponse:
    """Rows as a file `name`.csv or `name`.json. Values are those behind the figures, not their words."""
    lines = csv_lines(keys, rows) if form == "csv" else json_lines(keys, rows)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(lines, content_type=kind, headers=headers)


def csv_lines(keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(keys)
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def json_lines(keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield "["
    for n, row in enumerate(rows):
        yield (",\n" if n else "\n") + json.dumps(dict(zip(keys, row, strict=True)), default=str)
    yield "\n]\n"


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return value


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, value: str) -> str:
        return value
