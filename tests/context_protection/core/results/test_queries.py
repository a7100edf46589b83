"""SQL over stored rows adds up exactly, reads nothing but the rows, and ends in time, whatever it is."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_protection.core.errors import InvalidArgument
from context_protection.core.results.queries import Databases, Ended, QueryLimits, QueryTable, RowsDatabase, Selected
from context_protection.core.results.tabulation import MAX_COLUMNS, Column, tabulate
from tests.patience import PATIENCE
from tests.properties import payloads

ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "arrivalDate": "2026-01-31",
        "totalPrice": 0.1,
        "status": "new",
        "guest": {"name": "Ada"},
        "tags": [1, 2],
    },
    {"id": 2, "arrivalDate": "2026-02-30", "totalPrice": 0.2, "status": "new", "guest": {"name": "Bo"}, "tags": []},
    {"id": 3, "arrivalDate": None, "totalPrice": 19.99, "status": "cancelled", "guest": None, "tags": None},
]
PATIENT = QueryLimits(seconds=PATIENCE)  # however busy the machine is
COLUMNS = [
    Column("id", "id", "number"),
    Column("status", "status", "text", convert=lambda status: {"new": "confirmed"}.get(status, status)),
    Column("checkInDate", "arrivalDate", "date"),
    Column("guestName", "guest.name", "text"),
]


@pytest.fixture(scope="module")
def rows() -> Iterator[RowsDatabase]:
    database = RowsDatabase({"rows": QueryTable(ROWS, COLUMNS)}, limits=PATIENT)
    yield database
    database.close()


def one(database: RowsDatabase, sql: str) -> Any:
    """The only cell."""
    (row,) = database.select(sql).rows
    (cell,) = row.values()
    return cell


def refused(database: RowsDatabase, sql: str) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as error:
        database.select(sql)
    assert error.value.parameter == "sql"
    return error.value


def select(values: list[Any], sql: str, columns: list[Column] | None = None) -> Selected:
    database = RowsDatabase({"rows": QueryTable(values, columns or [])}, limits=PATIENT)
    try:
        return database.select(sql)
    finally:
        database.close()


# -- The table --------------------------------------------------------------------------------------


def test_canonical_columns_come_first_and_upstreams_own_after_them(rows: RowsDatabase):
    assert rows.columns["rows"] == {
        "id": "BIGINT",
        "status": "VARCHAR",
        "checkInDate": "DATE",
        "guestName": "VARCHAR",
        "arrivalDate": "VARCHAR",
        "totalPrice": "DECIMAL(18,2)",
        "status_2": "VARCHAR",
        "guest": "JSON",
        "tags": "JSON",
    }


def test_money_adds_up_exactly(rows: RowsDatabase):
    assert one(rows, "SELECT sum(totalPrice) FROM rows WHERE id < 3") == 0.3
    assert one(rows, "SELECT sum(totalPrice) FROM rows") == 20.29


def test_a_date_that_is_none_is_null_and_stands_raw_under_upstreams_name(rows: RowsDatabase):
    found = rows.select("SELECT checkInDate, arrivalDate FROM rows WHERE id = 2").rows
    assert found == [{"checkInDate": None, "arrivalDate": "2026-02-30"}]


def test_a_canonical_value_is_the_connectors_and_the_raw_one_has_a_number(rows: RowsDatabase):
    assert rows.select("SELECT status, status_2 FROM rows WHERE id = 1").rows == [
        {"status": "confirmed", "status_2": "new"}
    ]


def test_nested_values_are_json_to_go_into(rows: RowsDatabase):
    assert one(rows, "SELECT guest->>'$.name' FROM rows WHERE id = 1") == "Ada"
    assert one(rows, "SELECT guest FROM rows WHERE id = 1") == {"name": "Ada"}
    assert one(rows, "SELECT sum(tag::INT) FROM (SELECT unnest(tags::JSON[]) AS tag FROM rows)") == 3


@pytest.mark.parametrize(
    ("kind", "raw", "typed"),
    [
        ("text", 5, "5"),
        ("text", {"a": 1}, '{"a":1}'),
        ("number", "120.50", 120.5),
        ("number", "12 euros", None),
        ("number", True, 1),
        ("boolean", 1, True),
        ("boolean", "false", False),
        ("boolean", 2, None),
        ("date", "2026-01-05T23:30:00-05:00", "2026-01-05"),
        ("date", "infinity", None),
        ("moment", "2026-01-05T23:30:00-05:00", "2026-01-06 04:30:00"),
        ("moment", "2026-01-05 10:00:00", "2026-01-05 10:00:00"),
        ("moment", "0001-01-01T00:00:00+14:00", None),
        ("moment", "05/01/2026", None),
    ],
)
def test_a_declared_type_takes_what_it_can_read(kind: Any, raw: Any, typed: Any):
    assert select([{"raw": raw}], "SELECT value FROM rows", [Column("value", "raw", kind)]).rows == [{"value": typed}]


@pytest.mark.parametrize(
    ("values", "type_", "back"),
    [
        ([1, None], "BIGINT", [1, None]),
        ([2**63, 1], "HUGEINT", ["9223372036854775808", 1]),
        ([2**200, 1], "VARCHAR", [str(2**200), "1"]),
        ([1, 0.25], "DECIMAL(18,2)", [1, 0.25]),
        ([1.0, 2.0], "DECIMAL(18,1)", [1, 2]),
        ([51.50735091, 0.5], "DOUBLE", [51.50735091, 0.5]),
        ([1e300, 1], "DOUBLE", [1e300, 1]),
        ([float("nan"), 1.5, float("inf")], "DECIMAL(18,1)", [None, 1.5, None]),
        ([2**60, 0.5], "JSON", [2**60, 0.5]),
        ([True, False], "BOOLEAN", [True, False]),
        ([True, 1, "x", 1.5, None, [1], {"a": None}], "JSON", [True, 1, "x", 1.5, None, [1], {"a": None}]),
        (["a\x00b", "静", "\ud800"], "VARCHAR", ["a\x00b", "静", "?"]),
        ([None, None], "VARCHAR", [None, None]),
    ],
)
def test_other_columns_have_the_type_of_their_values(values: list[Any], type_: str, back: list[Any]):
    database = RowsDatabase({"rows": QueryTable([{"value": value} for value in values])})
    found = [row["value"] for row in database.select("SELECT value FROM rows").rows]
    assert (database.columns["rows"], found) == ({"value": type_}, back)
    database.close()


def test_names_that_sql_cannot_say_or_tell_apart_are_made_so():
    row = {"": 1, "Id": 2, "id": 3, "x" * 500: 4, 'say "it"': 5, "a\nb": 6, "id_2": 7, "\ud800": 8}
    names = ["empty", "Id", "id_2", "x" * 120, 'say "it"', "a_b", "id_2_2", "_"]
    database = RowsDatabase({"rows": QueryTable([row])})
    assert list(database.columns["rows"]) == names
    assert list(database.select("FROM rows").rows[0].values()) == [1, 2, 3, 4, 5, 6, 7, 8]
    database.close()


def test_more_names_than_a_table_holds_go_into_one_column():
    many = [{f"name{row * 1000 + number}": number for number in range(1000)} for row in range(3)]
    assert len(tabulate(many, [])) == MAX_COLUMNS
    assert len(select(many, "SELECT * FROM rows").columns) == MAX_COLUMNS
    found = select(many, "SELECT other_fields->>'$.name2999' AS last FROM rows").rows
    assert found == [{"last": None}, {"last": None}, {"last": "999"}]


def selecting(column: str, times: int) -> str:
    return " ".join(["SELECT", ",".join([column] * times), "FROM rows"])


@pytest.mark.parametrize(
    "sql",
    [
        selecting("a", 9_900),
        selecting("*", 501),
        f"WITH half AS ({selecting('a', 300)}) SELECT * FROM half AS one, half AS two",  # noqa: S608
        f"WITH wide AS ({selecting('a', 600)}) SELECT 1 FROM wide",  # noqa: S608
    ],
)
def test_more_columns_than_an_answer_holds_are_refused_in_words_whatever_their_names(sql: str):
    with pytest.raises(InvalidArgument) as refused:
        select([{"a": 1}], sql)
    assert refused.value.reason == "sql_too_wide"
    assert refused.value.expected.startswith("at most 500 columns")


def test_as_many_columns_as_are_allowed_are_named_apart():
    found = select([{"a": 1}], selecting("a", 499).replace("a", "1 AS a_2, a", 1)).columns
    names = tuple(each.name for each in found)
    assert len(set(names)) == len(names) == 500
    assert names[:4] == ("a_2", "a", "a_3", "a_4")


def test_an_answer_has_a_limit_of_cells_and_names_count_for_its_bytes():
    database = RowsDatabase({"rows": QueryTable([{"a": number} for number in range(1_100)])}, limits=PATIENT)
    wide = database.select(selecting("a", 500))
    assert (len(wide.rows), wide.more) == (1_000, True)
    named = database.select(selecting(f'a AS "{"n" * 19_000}"', 1))
    database.close()
    assert named.more
    assert len(orjson.dumps(named.rows)) < 9 * 2**20


@pytest.mark.parametrize("levels", [150, 199, 250, 300, 900, 1_100])
@pytest.mark.parametrize("sql", ["SELECT '{}'::JSON AS j", "SELECT ['{}'::JSON] AS j"])
def test_a_cell_of_many_levels_can_be_told(sql: str, levels: int):
    document = "[" * levels + "]" * levels
    (row,) = select([{"a": 1}], sql.format(document)).rows
    orjson.dumps({"items": [row]})  # knows 254 levels
    inner = row["j"]
    if levels < 200:
        assert orjson.loads(document) in (inner, inner[0])
    else:
        assert document in (orjson.dumps(inner) if isinstance(inner, list) else inner.encode()).decode()


def test_a_list_of_many_levels_can_be_told():
    (row,) = select([{"a": 1}], "SELECT " + "{'a':" * 240 + "1" + "}" * 240 + " AS j").rows
    assert orjson.loads(row["j"]) == orjson.loads('{"a":' * 240 + "1" + "}" * 240)


def test_rows_without_fields_or_that_are_none_are_counted_as_well():
    assert select([], "SELECT count(*) AS n FROM rows").rows == [{"n": 0}]
    assert select([{}, {}], "SELECT count(*) AS n FROM rows").rows == [{"n": 2}]
    assert select([1, 2], "SELECT sum(value) AS n FROM rows").rows == [{"n": 3}]


def test_rows_keep_their_order_over_many_batches_and_every_time():
    database = RowsDatabase({"rows": QueryTable([{"n": number} for number in range(5000)])})
    first = database.select("SELECT n, rowid FROM rows")
    assert [row["n"] for row in first.rows] == [row["rowid"] for row in first.rows] == list(range(5000))
    joined = "SELECT a.n, b.n FROM rows a JOIN rows b ON a.n % 7 = b.n % 5 WHERE b.n < 20"
    assert database.select(joined) == database.select(joined)
    database.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(payloads.names, payloads.values, max_size=6), max_size=5))
def test_any_rows_build(values: list[dict[str, Any]]):
    assert select(values, "SELECT count(*) AS n FROM rows").rows == [{"n": len(values)}]


@given(
    st.lists(
        st.dictionaries(
            st.text(st.characters(), max_size=4),
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        )
    )
)
def test_any_rows_become_columns_of_valid_json(values: list[dict[str, Any]]):
    table = tabulate(values, [Column("at", "at", "moment"), Column("n", "n", "number")])
    for column in table:
        assert len(orjson.loads(column.json(0, len(values)))) == len(values)
    assert len({column.name.casefold() for column in table}) == len(table)


# -- Answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "cell"),
    [
        ("1.50::DECIMAL(9,2)", 1.5),
        ("3.00::DECIMAL(9,2)", 3),
        ("12345678901234567.89::DECIMAL(20,2)", "12345678901234567.89"),
        ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("'nan'::DOUBLE", None),
        ("DATE '2026-01-05'", "2026-01-05"),
        ("TIMESTAMP '2026-01-05 10:00:00'", "2026-01-05 10:00:00"),
        ("TIME '10:00:01'", "10:00:01"),
        ("INTERVAL 3 DAY", "3 days, 0:00:00"),
        ("'\\xAA\\x01'::BLOB", "qgE="),
        ("[1, NULL]", [1, None]),
        ("{'a': DATE '2026-01-05', 'b': [1.5]}", {"a": "2026-01-05", "b": [1.5]}),
        ("MAP {1: 'x'}", {"1": "x"}),
        ("MAP {'k': 2}", {"k": 2}),
        ("MAP {{'k': 2}: 3}", {"key": [{"k": 2}], "value": [3]}),
        ("'{\"a\":[1]}'::JSON", {"a": [1]}),
        ("'[1e999]'::JSON", [None]),
        ("date_trunc('month', DATE '2026-01-05')", "2026-01-01 00:00:00"),
        ("now()::TIMESTAMP IS NULL", False),
        ("list_transform([1, 2], lambda x: x + 1)", [2, 3]),
        ("strftime(DATE '2026-01-05', '%Y/%m')", "2026/01"),
        ("regexp_replace('abc', 'b', 'x')", "axc"),
        ("CASE WHEN true THEN 'yes' END", "yes"),
        ("extract(year FROM DATE '2026-01-05')", 2026),
        ("'Ab' ILIKE 'a%' AND 'a' SIMILAR TO '[a-c]' AND 5 BETWEEN 1 AND 9", True),
        ("TRY_CAST('x' AS INT)", None),
    ],
)
def test_a_cell_is_a_json_value_as_short_as_exact(rows: RowsDatabase, expression: str, cell: Any):
    found = one(rows, f"SELECT {expression}")
    assert (found, type(found)) == (cell, type(cell))


@pytest.mark.parametrize(
    "sql",
    [
        "FROM rows",
        "TABLE rows",
        "VALUES (1), (2)",
        "DESCRIBE rows",
        "SUMMARIZE rows",
        "WITH c AS MATERIALIZED (SELECT * FROM rows) SELECT * FROM c JOIN rows USING (id) SEMI JOIN rows x USING (id)",
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT * FROM c",
        "SELECT status, count(*), count(DISTINCT id), sum(id) FILTER (WHERE id > 1) FROM rows GROUP BY ALL",
        "SELECT rank() OVER (PARTITION BY status ORDER BY id DESC), lag(id) OVER w FROM rows WINDOW w AS (ORDER BY id)",
        "SELECT * FROM rows QUALIFY row_number() OVER (PARTITION BY status ORDER BY id ASC) = 1",
        "SELECT status, grouping(status) FROM rows GROUP BY ROLLUP (status) HAVING count(*) > 0",
        "SELECT * EXCLUDE (id) REPLACE (1 AS guest) FROM rows LIMIT 50%",
        "SELECT COLUMNS('s.*') FROM rows",
        "SELECT * FROM range(1, 3), generate_series(1, 2) g(i), unnest([1]) u(x)",
        "SELECT rows.id, e.* FROM rows, json_each(rows.guest) e",
        "SELECT * FROM rows PIVOT (sum(totalPrice) FOR id IN (1, 2) GROUP BY status)",
        "FROM (SELECT id, totalPrice FROM rows) UNPIVOT (v FOR n IN (id, totalPrice))",
        "SELECT id FROM rows UNION ALL BY NAME FROM rows EXCEPT FROM rows WHERE id = 9 ORDER BY ALL LIMIT 2 OFFSET 1",
        "SELECT (SELECT max(id) FROM rows r WHERE r.status = rows.status), EXISTS (FROM rows) FROM rows",
        "SELECT string_agg(status, ',' ORDER BY id), histogram(id), arg_max(id, totalPrice), mode(id) FROM rows",
        "SELECT status COLLATE NOCASE, [x * 2 FOR x IN [1, 2] IF x > 1], #1, guest->'name', -id, NOT true FROM rows;",
        "-- a comment\nSELECT /* another */ 1",
    ],
)
def test_what_analysts_write_is_answered(rows: RowsDatabase, sql: str):
    assert rows.select(sql).rows


def test_names_that_repeat_have_a_number(rows: RowsDatabase):
    named = rows.select("SELECT 1 AS a, 2 AS a, 3 AS a_2").columns
    assert [each.name for each in named] == ["a", "a_2", "a_2_2"]


def test_an_answer_holds_so_many_rows_and_says_that_there_are_more():
    database = RowsDatabase(
        {"rows": QueryTable([{"n": number} for number in range(40)])}, limits=replace(PATIENT, rows=30)
    )
    assert (len(database.select("FROM rows").rows), database.select("FROM rows").more) == (30, True)
    assert not database.select("FROM rows LIMIT 30").more
    assert database.select("FROM rows a, rows b, rows c, rows d, rows e, rows f, rows g, rows h").more
    database.close()


def test_an_answer_holds_so_many_bytes():
    database = RowsDatabase({"rows": QueryTable([{"text": "x" * 1000}] * 50)}, limits=replace(PATIENT, bytes=20_000))
    found = database.select("FROM rows")
    assert (len(found.rows), found.more) == (19, True)
    assert refused(database, "SELECT string_agg(text) FROM rows").reason == "sql_too_large"
    database.close()


# -- What is wrong ----------------------------------------------------------------------------------


def test_an_unknown_column_names_the_nearest_and_those_there_are(rows: RowsDatabase):
    error = refused(rows, "SELECT totlPrice FROM rows")
    assert (error.reason, error.suggestion) == ("unknown_column", "Did you mean totalPrice?")
    assert "checkInDate" in error.expected


def test_the_list_of_columns_is_bounded():
    database = RowsDatabase(
        {"rows": QueryTable([{f"a_rather_long_name_of_a_column_{number}": 1 for number in range(500)}])}
    )
    assert len(refused(database, "SELECT nothing FROM rows").expected) < 1900
    database.close()


def test_a_syntax_error_says_where(rows: RowsDatabase):
    assert refused(rows, "SELECT 'é' FORM rows WHERE").message.endswith('near "rows" (character 17).')


def test_a_type_error_says_which_and_how_to_cast(rows: RowsDatabase):
    error = refused(rows, "SELECT sum(status) FROM rows")
    assert "sum(VARCHAR)" in error.message
    assert "TRY_CAST" in error.suggestion


def test_a_time_zone_asks_for_a_cast(rows: RowsDatabase):
    assert "CAST" in refused(rows, "SELECT now()").suggestion


def test_a_function_misspelt_names_the_nearest(rows: RowsDatabase):
    assert refused(rows, "SELECT date_trunk('month', checkInDate) FROM rows").suggestion == "Did you mean date_trunc?"


@pytest.mark.parametrize("sql", ["", "  \n", "SELECT 1 --" + "x" * 20_000])
def test_no_statement_or_a_very_long_one_is_refused(rows: RowsDatabase, sql: str):
    assert refused(rows, sql).reason == "invalid_sql"


def test_without_the_engine_there_is_an_answer_as_well(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InvalidArgument, match="not available") as error:
        RowsDatabase({"rows": QueryTable(ROWS)}, limits=PATIENT)
    assert "aggregate" in error.value.suggestion


# -- Attacks ----------------------------------------------------------------------------------------

SECRET = "sluice-secret-in-the-environment"
ATTACKS = [
    "COPY rows TO '/tmp/out.csv'",
    "COPY (SELECT * FROM rows) TO '/dev/stdout'",
    "COPY rows FROM '/etc/passwd'",
    "ATTACH '/etc/passwd' AS x",
    "ATTACH ':memory:' AS x",
    "DETACH memory",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "PRAGMA version",
    "SET memory_limit = '100GB'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET memory_limit",
    "SET VARIABLE x = 1",
    "CALL pragma_version()",
    "EXPORT DATABASE '/tmp/out'",
    "IMPORT DATABASE '/tmp/out'",
    "CHECKPOINT",
    "VACUUM",
    "EXPLAIN ANALYZE SELECT 1",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "DESCRIBE",
    "SELECT * FROM (SHOW TABLES)",
    "CREATE TABLE t AS SELECT 1",
    "CREATE MACRO f(x) AS x + 1",
    "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE SECRET s (TYPE S3, KEY_ID 'a', SECRET 'b')",
    "CREATE SEQUENCE s",
    "CREATE TYPE mood AS ENUM ('a')",
    "INSERT INTO rows (id) VALUES (9)",
    "UPDATE rows SET id = 9",
    "DELETE FROM rows",
    "DROP TABLE rows",
    "TRUNCATE rows",
    "ALTER TABLE rows DROP COLUMN id",
    "MERGE INTO rows USING rows r ON rows.id = r.id WHEN MATCHED THEN DELETE",
    "WITH gone AS (DELETE FROM rows RETURNING *) SELECT * FROM gone",
    "WITH x AS (INSERT INTO rows (id) VALUES (9) RETURNING id) SELECT * FROM x",
    "WITH x AS (UPDATE rows SET id = 9 RETURNING id) SELECT * FROM x",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE rows",
    "SELECT 1 -- \n; DROP TABLE rows",
    "SELECT 1 /* ; */ ; DROP TABLE rows",
    "/* SELECT 1 */ DROP TABLE rows",
    "SELECT 1\x00; DROP TABLE rows",
    "SELECT 1 INTO x",
    "SELECT $1",
    "SELECT ?",
    "SELECT $name",
    "PIVOT rows ON status USING sum(id)",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM READ_CSV('/etc/passwd')",
    'SELECT * FROM "read_csv"(\'/etc/passwd\')',
    "SELECT * FROM system.main.read_csv('/etc/passwd')",
    "SELECT * FROM main.read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('http://127.0.0.1/x')",
    "SELECT * FROM read_duckdb('/x')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM \"/etc/passwd\"",
    "SELECT * FROM 'https://example.com/x.csv'",
    "SELECT * FROM 's3://bucket/x.parquet'",
    "SELECT * FROM rows, '/etc/passwd'",
    "SELECT (SELECT max(content) FROM read_text('/etc/passwd'))",
    "SELECT * FROM rows WHERE id IN (SELECT size FROM read_blob('/etc/passwd'))",
    "SELECT * FROM rows ORDER BY (SELECT 1 FROM glob('/*'))",
    "SELECT sum(id) FILTER (WHERE (SELECT 1 FROM glob('/*')) = 1) FROM rows",
    "SELECT list_transform([1], lambda x: getenv('PATH'))",
    "SELECT getenv('PATH')",
    "SELECT 'PATH'.getenv()",
    "SELECT current_setting('home_directory')",
    "SELECT 'memory_limit'.current_setting()",
    "SELECT getvariable('x')",
    "SELECT version()",
    "SELECT current_query()",
    "SELECT pg_postmaster_start_time()",
    "SELECT current_setting('memory_limit') OVER ()",
    "SELECT write_log('x')",
    "SELECT sleep_ms(100000)",
    "SELECT pg_sleep(100)",
    "SELECT nextval('s')",
    "SELECT error('x')",
    "SELECT json_serialize_sql('SELECT 1')",
    "SELECT json_serialize_plan('SELECT 1')",
    "SELECT * FROM json_execute_serialized_sql('{}')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('rows')",
    "SELECT * FROM query('FROM read_text(''/etc/passwd'')')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_extensions()",
    "SELECT * FROM duckdb_functions()",
    "SELECT * FROM which_secret('s3://x', 's3')",
    "SELECT * FROM pragma_database_size()",
    "SELECT * FROM pragma_table_info('rows')",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_settings",
    "SELECT * FROM pg_settings",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM memory.main.rows",
    "SELECT * FROM main.rows",
    "SELECT main.upper('x')",
    "SELECT * FROM ROWS_DATABASE",
    "SELECT * FROM sys",
    "SELECT * FROM plan",
    "SELECT * FROM engine",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM python_map_function(1)",
    "SELECT * FROM test_all_types()",
    "SELECT * FROM repeat_row(1, num_rows = 5)",
    "WITH duckdb_settings AS (SELECT * FROM duckdb_settings) SELECT * FROM duckdb_settings",
    "WITH pg_settings AS (SELECT 1) SELECT * FROM pg_settings",
    "WITH sqlite_master AS (SELECT * FROM sqlite_master) SELECT * FROM sqlite_master",
    "WITH \"tables\" AS (SELECT 1) SELECT * FROM \"tables\"",
    "SELECT * FROM (WITH pg_type AS (SELECT 1) FROM pg_type), pg_type",
    "WITH \"/etc/passwd\" AS (SELECT * FROM \"/etc/passwd\") SELECT * FROM \"/etc/passwd\"",
    "SELECT * FROM (WITH \"/etc/passwd\" AS (SELECT 1) SELECT 1), \"/etc/passwd\"",
    "DESCRIBE FROM read_text('/etc/passwd')",
    "SUMMARIZE FROM read_text('/etc/passwd')",
    "FROM rows PIVOT (max((SELECT 1 FROM glob('/*'))) FOR id IN (1))",
    "SELECT * FROM rows AT (VERSION => 1)",
    "SELECT 'x'::nothing",
    "SELECT '/etc/passwd'::regclass",
]  # fmt: skip
ODD = [
    "SELECT * FROM ROWS",
    "SELECT current_user, session_user, current_schema",
    "(" * 4000 + "SELECT 1" + ")" * 4000,
    "SELECT " + "(" * 9000 + "1" + ")" * 9000,
    "SELECT " + "[" * 9000 + "]" * 9000,
    "SELECT " + "NOT " * 4000 + "true",
    "SELECT " + "- " * 9000 + "1",
    "SELECT " + "+".join(["1"] * 9000),
    "SELECT " + "(SELECT " * 1500 + "1" + ")" * 1500,
    "SELECT " + "abs(" * 3000 + "1" + ")" * 3000,
    "SELECT " + "CASE WHEN true THEN " * 700 + "1" + " END" * 700,
    "SELECT json('" + "[" * 9000 + "]" * 9000 + "')",
    "SELECT '" + "\ud800" * 3 + "'",
]


@pytest.fixture(scope="module")
def attacked() -> Iterator[RowsDatabase]:
    os.environ["PLANTED"] = SECRET
    database = RowsDatabase({"rows": QueryTable(ROWS, COLUMNS)}, limits=PATIENT)
    yield database
    database.close()
    del os.environ["PLANTED"]


def said(database: RowsDatabase, sql: str) -> str:
    """All that an answer, or an error, says."""
    try:
        return repr(database.select(sql))
    except InvalidArgument as error:
        return orjson.dumps(error.document()).decode().replace(sql, "")


@pytest.mark.parametrize("sql", ATTACKS, ids=[sql[:60] for sql in ATTACKS])
def test_an_attack_is_refused_before_it_runs(attacked: RowsDatabase, sql: str):
    assert refused(attacked, sql).reason in ("forbidden_sql", "invalid_sql")


@pytest.mark.parametrize("sql", ATTACKS + ODD, ids=[sql[:60] for sql in ATTACKS + ODD])
def test_whatever_is_tried_leaks_nothing_and_leaves_the_rows(attacked: RowsDatabase, sql: str):
    words = said(attacked, sql)
    for leak in ("root:", "site-packages", "GiB", "Traceback", "extension", "/proc", "python", SECRET):
        assert leak not in words or leak in sql
    assert attacked.select("SELECT count(*) AS n FROM rows").rows == [{"n": 3}]


def test_the_engine_has_no_environment_and_no_files(attacked: RowsDatabase):
    """The second wall, for the day that the first has a hole."""
    with open(f"/proc/{attacked._process.pid}/environ") as environment:
        assert SECRET not in environment.read()


WORDS = (
    "SELECT FROM rows WHERE id * ( ) , ; ' \" 1 AS WITH x UNION GROUP BY count sum -- /* */ $1 ? :: [ ] { } -> . "
    "LIMIT ORDER CASE WHEN END NULL lambda : COLUMNS DESCRIBE PIVOT ON VALUES guest"
)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join))
def test_any_sql_gives_rows_or_an_error_of_ours(rows: RowsDatabase, sql: str):
    assert said(rows, sql)
    assert rows.alive


# -- QueryLimits -----------------------------------------------------------------------------------------

QUICK = QueryLimits(seconds=0.5)


def timed_out(database: RowsDatabase, sql: str) -> None:
    began = time.monotonic()
    assert refused(database, sql).reason == "sql_timeout"
    assert time.monotonic() - began < QUICK.seconds + PATIENCE  # the queries would go on for minutes


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000) a WHERE hash(a.range) = 5",
        "SELECT count(*) FROM range(100000) a, range(10000) b WHERE (a.range * b.range) % 7 = 3",
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT sum(n) FROM c",
    ],
)
def test_endless_work_ends_in_time_and_the_next_statement_is_answered(sql: str):
    database = RowsDatabase({"rows": QueryTable(ROWS)}, limits=QUICK)
    timed_out(database, sql)
    assert one(database, "SELECT count(*) FROM rows") == 3
    database.close()


def test_endless_work_within_one_function_ends_the_process_in_time():
    stuck = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))"
    database = RowsDatabase({"rows": QueryTable(ROWS)}, limits=QUICK)
    timed_out(database, stuck)
    with pytest.raises(Ended):
        database.select("FROM rows")
    database.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 2000000000)",
        "SELECT list(range) FROM range(500000000)",
        "SELECT string_agg(repeat('x', 1000000)) FROM range(100000)",
        "SELECT range FROM range(200000000) ORDER BY hash(range)",
        "SELECT list_sum(range(1000000000))",
        "SELECT repeat('x', 1000000) FROM range(9999)",
    ],
)
def test_gigabytes_are_refused_and_the_next_statement_is_answered(sql: str):
    database = RowsDatabase({"rows": QueryTable(ROWS)}, limits=PATIENT)
    assert refused(database, sql).reason in ("sql_memory", "sql_too_large")
    assert one(database, "SELECT count(*) FROM rows") == 3
    with open(f"/proc/{database._process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak < 700_000
    database.close()


def test_rows_that_are_too_many_for_the_memory_say_so():
    many = [{"text": os.urandom(30_000).hex()} for _ in range(600)]
    with pytest.raises(InvalidArgument) as error:
        RowsDatabase({"rows": QueryTable(many)}, limits=QueryLimits(memory_mb=16))
    assert error.value.reason == "sql_too_large"


# -- Databases that live on -------------------------------------------------------------------------


class Builds:
    def __init__(self) -> None:
        self.made: list[RowsDatabase] = []

    def __call__(self) -> RowsDatabase:
        self.made.append(RowsDatabase({"rows": QueryTable(ROWS)}, limits=PATIENT))
        return self.made[-1]


@pytest.fixture
def builds() -> Iterator[Builds]:
    built = Builds()
    yield built
    for database in built.made:
        database.close()


COUNT = "SELECT count(*) AS n FROM rows"


def test_a_second_question_builds_nothing(builds: Builds):
    databases = Databases()
    assert databases.select("a", builds, COUNT) == databases.select("a", builds, COUNT)
    assert len(builds.made) == 1
    databases.close()
    assert not builds.made[0].alive


def test_the_one_asked_longest_ago_makes_room(builds: Builds):
    databases = Databases(most=2)
    for key in ("a", "b", "a", "c"):
        databases.select(key, builds, COUNT)
    assert [database.alive for database in builds.made] == [True, False, True]
    databases.close()


def test_large_ones_make_room_earlier(builds: Builds):
    databases = Databases(most_bytes=1)
    for key in ("a", "b"):
        databases.select(key, builds, COUNT)
    assert [database.alive for database in builds.made] == [False, True]
    databases.close()


def test_an_idle_one_ends_by_itself(builds: Builds):
    databases = Databases(idle_seconds=0.01)
    for key in ("a", "b", "a"):
        assert databases.select(key, builds, COUNT).rows == [{"n": 3}]
    for database in builds.made:
        assert database._process.wait(PATIENCE) == -signal.SIGKILL
    assert databases.select("a", builds, COUNT).rows == [{"n": 3}]
    databases.close()


def test_one_that_is_asked_often_enough_stays(builds: Builds):
    databases = Databases(idle_seconds=PATIENCE)
    for _ in range(3):
        databases.select("a", builds, COUNT)
    assert [database.alive for database in builds.made] == [True]
    databases.close()
    assert databases._closing is None


def test_one_that_a_statement_has_ended_is_built_again(builds: Builds):
    databases = Databases()
    databases.select("a", builds, COUNT)
    builds.made[0].close()
    assert databases.select("a", builds, COUNT).rows == [{"n": 3}]
    assert len(builds.made) == 2
    databases.close()


def test_a_build_that_fails_is_tried_again(builds: Builds):
    def failing() -> RowsDatabase:
        raise InvalidArgument("not today")

    databases = Databases()
    with pytest.raises(InvalidArgument):
        databases.select("a", failing, COUNT)
    assert databases.select("a", builds, COUNT).rows == [{"n": 3}]
    databases.close()


def test_the_gateways_own_process_does_not_load_the_engine(rows: RowsDatabase):
    assert one(rows, "SELECT 1") == 1
    assert "duckdb" not in sys.modules


def test_the_length_of_a_nested_list_is_the_number_of_its_elements(rows: RowsDatabase):
    lengths = (
        "SELECT len(tags) AS a, length(tags) AS b, len(guest->>'$.name') AS c, len(status) AS d FROM rows ORDER BY id"
    )
    assert [tuple(row.values()) for row in rows.select(lengths).rows] == [
        (2, 2, 3, 9),
        (0, 0, 2, 9),
        (None, None, None, 9),
    ]
    assert one(rows, "SELECT sum(len(tags)) FROM rows WHERE len(tags) > 1") == 2
    assert one(rows, "SELECT len([1, 2, 3]) + len('four') FROM rows WHERE id = 1") == 7
