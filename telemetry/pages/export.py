"""Exports of a table: all of its rows, as CSV or JSON, streamed."""

import csv
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header

from telemetry.pages.tables import Table

FORMS = ("csv", "json")
READ_AT_ONCE = 500  # lines that are sent together
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet treats a cell that begins with one of these as a formula
SEPARATORS = str.maketrans("/\\", "--")  # names of keys may contain them, names of files may not


def wanted(request: HttpRequest) -> str:
    """The requested form: csv, json, or "" for the page."""
    form = request.GET.get("export", "")
    return form if form in FORMS else ""


def exported(table: Table, form: str, name: str) -> StreamingHttpResponse:
    keys = [column.key for column in table.columns]
    return stream(keys, ([cell.raw for cell in row] for row in table.rows), form, name)


def stream(keys: Sequence[str], rows: Iterable[Sequence[Any]], form: str, name: str) -> StreamingHttpResponse:
    """Rows as a file `name`.csv or `name`.json, with raw values instead of formatted texts."""
    lines = csv_lines(keys, rows) if form == "csv" else json_lines(keys, rows)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/json"
    file = name.translate(SEPARATORS) + f".{form}"
    headers = {"Content-Disposition": str(content_disposition_header(True, file)), "Cache-Control": "no-store"}
    return StreamedFile(lines, content_type=kind, headers=headers)


class StreamedFile(StreamingHttpResponse):
    """A response whose lines are generated while they are sent. Django's own class would first generate all lines in
    memory, because their iterator is not asynchronous."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        lines = iter(cast(Iterator[bytes], self.streaming_content))
        while part := await sync_to_async(_next_part)(lines):
            yield part


def _next_part(lines: Iterator[bytes]) -> bytes:
    return b"".join(islice(lines, READ_AT_ONCE))


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
    """A file whose `write` returns the text."""

    def write(self, value: str) -> str:
        return value
