"""The errors of SQL: each says what the statement does wrong, and what to write instead."""

import re
from collections.abc import Collection, Iterable, Mapping

from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.redaction import path_kind

_UNKNOWN_COLUMN = re.compile(
    r'(?:(?:Table|Values list) "(?P<table>[^"]{1,200})" does not have a column named|Referenced column|Column) '
    r'"(?P<column>[^"]{1,200})"'
)
LISTED_CHARS = 1900  # an error lists at most this many characters of column names
_OUTSIDE_GROUPS = re.compile(r"must appear in the GROUP BY clause")
_NO_SUCH_PLACE = re.compile(r"term out of range")
_PARTS_OF_DATES = frozenset({"year", "quarter", "month", "week", "day", "hour", "minute", "second"})
MAX_NEAREST = 3
SIMILAR = 0.7  # how similar a name must be to be suggested beside the nearest one

ONE_SELECT = "one SELECT (WITH is fine)"
Tables = Mapping[str, Mapping[str, str]]  # each table's columns, with their types


def unavailable() -> InvalidArgument:
    return InvalidArgument(
        "SQL is not available on this server.",
        reason="sql_unavailable",
        parameter="sql",
        expected="a server with SQL installed",
        suggestion="Use where and aggregate instead.",
    )


def rejected(
    sql: str, tables: Tables, error: str, name: str = "", detail: str = "", position: int = 0
) -> InvalidArgument:
    """Converts an error that the sandbox reported into the error for the caller."""
    match error:
        case "wrong" if (found := _UNKNOWN_COLUMN.search(detail)) and (searched := _without(tables, found)):
            return _unknown_column(sql, found["column"], searched, tables)
        case "syntax":
            return _syntax(sql, detail, position)
        case "wrong":
            return _mismatch(sql, detail.partition(": ")[2] or detail)
        case "table":
            message = f"sql reads from {shown(name)!r}, which is not a table here."
            expected = f"{_named(tables)}, and names that WITH defines"
            return wrong(message, "forbidden_sql", sql, expected, f"Read FROM {next(iter(tables))}.")
        case "function":
            message = f"sql calls {shown(name)!r}, which is not offered here."
            expected = "the functions of SQL that compute with values: texts, numbers, dates, lists, JSON, aggregates"
            suggestion = f"Did you mean {detail}?" if detail else "Leave it out; use functions that compute."
            return wrong(message, "forbidden_sql", sql, expected, suggestion)
        case "name":
            message = f"WITH defines {shown(name)!r}, which is a reserved name."
            return wrong(message, "forbidden_sql", sql, "another name", "Choose another name in WITH.")
        case "parameter":
            message = "sql has a placeholder, for which there is no value."
            return wrong(message, "forbidden_sql", sql, "values written in the statement", "Write the value itself.")
        case "time":
            suggestion = "Add WHERE, or aggregate first; join less; recursion needs a condition that ends it."
            return wrong(
                "The statement took too long.", "sql_timeout", sql, "a statement that ends in time", suggestion
            )
        case "memory":
            suggestion = "Add WHERE, select fewer columns, or aggregate; join on equal keys."
            return wrong("The statement needs too much memory.", "sql_memory", sql, "a smaller statement", suggestion)
        case "large":
            suggestion = "Select fewer columns, or a part of the value with substr or json_extract."
            return wrong("One row of the answer is too large.", "sql_too_large", sql, "smaller rows", suggestion)
        case "wide":
            expected = f"at most {position:,} columns; columns of the same name count separately"
            suggestion = "Select only the columns that you need, or use several statements."
            return wrong(f"The statement has {detail} columns.", "sql_too_wide", sql, expected, suggestion)
        case "time_zone":
            suggestion = "Cast it: CAST(… AS TIMESTAMP), or AS DATE."
            return wrong("A column has a time zone.", "invalid_sql", sql, "timestamps without time zone", suggestion)
        case "nested":
            return wrong(
                "The statement is nested too deeply.", "invalid_sql", sql, ONE_SELECT, "Split it into parts with WITH."
            )
        case "forbidden":
            return wrong(
                "sql is not one SELECT.",
                "forbidden_sql",
                sql,
                ONE_SELECT,
                any_select(next(iter(tables))),
            )
        case _:
            return wrong("The statement cannot be answered.", "invalid_sql", sql, ONE_SELECT, "Write it more simply.")


TRY_TYPES = (
    "Cast with TRY_CAST(… AS …); DESCRIBE and a table's name give each column's type. A JSON column is read with "
    "column->>'$.name', its elements with unnest(column::JSON[])."
)


def any_select(table: str) -> str:
    """A suggestion that works for any table."""
    return f"Set sql to a value such as SELECT count(*) FROM {table}."  # noqa: S608 (a text for people)


def _mismatch(sql: str, detail: str) -> InvalidArgument:
    message, expected = f"The statement does not fit the rows: {detail}", "columns and values of matching types"
    if _OUTSIDE_GROUPS.search(detail):
        return wrong(message, "invalid_sql", sql, "each column in GROUP BY or in an aggregate", "Add GROUP BY ALL.")
    if _NO_SUCH_PLACE.search(detail):
        suggestion = "Order by a column's name, or by its number in SELECT, from 1."
        return wrong(message, "invalid_sql", sql, "a column in the SELECT list", suggestion)
    return wrong(message, "invalid_sql", sql, expected, TRY_TYPES)


def wrong(message: str, reason: str, sql: str, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        message,
        reason=reason,
        parameter="sql",
        value=sql,
        expected=expected,
        suggestion=suggestion,
    )


def _named(tables: Tables) -> str:
    return f"the table{'s' if len(tables) > 1 else ''} {', '.join(tables)}"


def _without(tables: Tables, found: re.Match[str]) -> Tables:
    """The tables in which the statement looks for the column: the one that it names, else all. Empty if one of them has
    the column."""
    wanted = (found["table"] or "").lower()
    searched = {name: columns for name, columns in tables.items() if name.lower() == wanted} or tables
    has_it = any(found["column"].lower() == each.lower() for columns in searched.values() for each in columns)
    return {} if has_it else searched


def _unknown_column(sql: str, name: str, searched: Tables, tables: Tables) -> InvalidArgument:
    """Lists the columns of the tables that were `searched`, and suggests the nearest ones of all tables."""
    near = _nearest(name, searched, with_table=len(tables) > 1) or _nearest(name, tables, with_table=True)
    return wrong(
        f"sql uses the column {shown(name)!r}, which {' and '.join(searched)} "
        f"{'does' if len(searched) == 1 else 'do'} not have{_why_not(name)}.",
        "unknown_column",
        sql,
        f"any of: {_listed(searched)}",
        _instead_of(name, near),
    )


def _why_not(column: str) -> str:
    return "" if path_kind(column) is None else ": fields of this name are redacted"


def _instead_of(column: str, near: Collection[str]) -> str:
    if path_kind(column) is not None:
        return "Leave this column out."
    if column.lower() in _PARTS_OF_DATES:
        return f"Write '{column}' in single quotes: without them it is a column."
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return 'Choose from those listed. Put names with characters other than a-z in "double quotes".'


def _nearest(name: str, tables: Tables, *, with_table: bool) -> list[str]:
    """The columns most like `name`."""
    by_name = {column: f"{table}.{column}" for table in reversed([*tables]) for column in tables[table]}
    found: list[str] = []
    while len(found) < MAX_NEAREST and (close := nearest(name, _other(by_name, found), SIMILAR if found else 0.5)):
        found.append(close)
    return [str(shown(by_name[each] if with_table else each)) for each in found]


def _other(names: Iterable[str], known: Collection[str]) -> list[str]:
    return [each for each in names if each not in known]


def _listed(tables: Tables) -> str:
    """The columns of each table; as many as fit an error, shared equally among the tables."""
    lists: list[str] = []
    for left, (table, columns) in zip(range(len(tables), 0, -1), tables.items(), strict=True):
        room = (LISTED_CHARS - sum(map(len, lists))) // left
        names = ", ".join(str(shown(each)) for each in columns)
        listed = names if len(names) <= room else f"{names[:room].rpartition(', ')[0]} …"
        lists.append(listed if len(tables) == 1 else f"{table}: {listed}")
    return "; ".join(lists)


def _syntax(sql: str, detail: str, position: int) -> InvalidArgument:
    """The error for a statement that does not parse. `position`: the offset of the mistake, in bytes."""
    before = sql.encode("utf-8", "replace")[:position].decode(errors="ignore")
    return wrong(
        f"sql cannot be read: {detail or 'there is an error'} (character {len(before) + 1}).",
        "invalid_sql",
        sql,
        f"{ONE_SELECT}, in DuckDB's dialect",
        "Correct it there; put texts in 'single' quotes, names in \"double\" ones.",
    )


def busy() -> InvalidArgument:
    return InvalidArgument(
        "Too many SQL statements are running.",
        reason="sql_busy",
        parameter="sql",
        expected="fewer statements at the same time",
        suggestion="Call again in a few seconds.",
        retry_after=5,
    )


def too_large_a_table() -> InvalidArgument:
    return InvalidArgument(
        "This result is too large for SQL.",
        reason="sql_too_large",
        parameter="sql",
        expected="a result with fewer or smaller rows",
        suggestion="Use where and aggregate, or make the result smaller with filters or fields first.",
    )
