"""The program of a separate process that holds some tables and runs SELECT statements on them.

If SQL crashes the engine, runs endlessly inside one function or exhausts memory, only this process ends. It starts
without environment variables, sets its own hard limits, exchanges frames over stdin and stdout, and imports nothing
from the gateway.

    build   {"tables": [{"name", "columns": [[name, type], …], "batches": n}, …], "seconds", "memory_mb", "most_rows",
            "most_bytes", "most_columns", "most_cells", "explains"}, then for each table and batch
            a frame per column: the JSON array of its values                      → {"ok": true}
    select  the SQL   → {"columns": […], "types": […], "rows": [[…], …], "more": …, "tree": …} or {"error": kind, …}

`tree`: the JSON of the parsed statement, if the plan `explains`.
"""

import base64
import contextlib
import difflib
import json
import math
import os
import re
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, BinaryIO

import duckdb

HEADER = struct.Struct(">I")
BUILD_SECONDS = 30.0
GRACE_SECONDS = 0.5  # how long the engine may take to stop on its own when its time is up
OVERHEAD_MB = 384  # memory of the process besides the engine's: Python, the engine's code, one response
FETCHED_ROWS = 200
DEEPEST_CELL = 200  # levels; a more deeply nested cell is returned as JSON text
MAX_MESSAGE_CHARS = 300

# -- What a statement may contain -------------------------------------------------------------------
# Everything else is rejected, and so is anything that a later version of the engine adds.

_COMPUTING = """
abs acos acosh add age aggregate any_value apply approx_count_distinct approx_quantile approx_top_k arbitrary arg_max
arg_max_null arg_min arg_min_null argmax argmin array_agg array_aggr array_aggregate array_append array_apply
array_cat array_concat array_contains array_distinct array_extract array_filter array_has array_has_all array_has_any
array_indexof array_intersect array_length array_pop_back array_pop_front array_position array_prepend array_push_back
array_push_front array_reduce array_resize array_reverse array_reverse_sort array_select array_slice array_sort
array_to_json array_to_string array_transform array_unique array_value array_where array_zip ascii asin asinh atan
atan2 atanh avg bar base64 bin bit_and bit_count bit_length bit_or bit_xor bool_and bool_or cardinality cbrt ceil
ceiling century char_length character_length chr concat concat_ws contains corr cos cosh cot count count_if count_star
countif covar_pop covar_samp cume_dist current_date damerau_levenshtein date_add date_diff date_part date_sub
date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade decode
degrees dense_rank divide editdist3 element_at encode ends_with entropy epoch epoch_ms epoch_ns epoch_us
equi_width_bins era even exp factorial favg fdiv fill filter first first_value flatten floor fmod format format_bytes
formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex from_json from_json_strict fsum gamma
gcd generate_series geomean geometric_mean get_current_timestamp grade_up greatest greatest_common_divisor
group_concat hamming hash hex histogram histogram_exact hour if ilike_escape instr isfinite isinf isnan isodow isoyear
jaccard jaro_similarity jaro_winkler_similarity json json_array json_array_length json_contains json_deep_merge
json_exists json_extract json_extract_path json_extract_path_text json_extract_string json_group_array
json_group_object json_group_structure json_insert json_keys json_merge_patch json_normalize json_object json_pretty
json_quote json_remove json_replace json_set json_strip_nulls json_structure json_transform json_transform_strict
json_type json_valid json_value julian kahan_sum kurtosis kurtosis_pop lag last last_day last_value lcase lcm lead
least least_common_multiple left left_grapheme len length length_grapheme levenshtein lgamma like_escape list
list_aggr list_aggregate list_any_value list_append list_apply list_avg list_bool_and list_bool_or list_cat
list_concat list_contains list_count list_distinct list_element list_extract list_filter list_first list_grade_up
list_has list_has_all list_has_any list_histogram list_indexof list_intersect list_last list_max list_median list_min
list_mode list_pack list_position list_prepend list_product list_reduce list_resize list_reverse list_reverse_sort
list_select list_slice list_sort list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform list_unique
list_value list_var_pop list_var_samp list_where list_zip listagg ln log log10 log2 lower lpad ltrim mad make_date
make_time make_timestamp make_timestamp_ms map map_concat map_contains map_contains_entry map_contains_value
map_entries map_extract map_extract_value map_from_entries map_keys map_values max max_by md5 mean median microsecond
millennium millisecond min min_by minute mismatches mod mode month monthname multiply nanosecond nextafter
nfc_normalize not_ilike_escape not_like_escape now nth_value ntile nullif octet_length ord overlay percent_rank pi
position pow power prefix printf product quantile quantile_cont quantile_disc quarter radians range rank rank_dense
reduce regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
regexp_split_to_array regexp_split_to_table regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy repeat replace reverse right right_grapheme round round_even roundbankers row row_number row_to_json
rpad rtrim second sem sha1 sha256 sign signbit sin sinh skewness split split_part sqrt starts_with stddev stddev_pop
stddev_samp str_split str_split_regex strftime string_agg string_split string_split_regex string_to_array
strip_accents strlen strpos strptime struct_concat struct_contains struct_extract struct_extract_at struct_has
struct_insert struct_keys struct_pack struct_update struct_values substr substring substring_grapheme subtract suffix
sum sum_no_overflow sumkahan switch tan tanh time_bucket timezone timezone_hour timezone_minute to_base to_base64
to_binary to_centuries to_days to_decades to_hex to_hours to_json to_microseconds to_millennia to_milliseconds
to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today translate trim trunc try_strptime
typeof ucase unbin unhex unicode union_extract union_tag union_value unnest unpivot_list upper url_decode url_encode
var_pop var_samp variance wavg week weekday weekofyear weighted_avg xor year yearweek
"""
FUNCTIONS = frozenset(_COMPUTING.split())
TABLE_FUNCTIONS = frozenset({"generate_series", "json_each", "json_tree", "range", "unnest"})
OPERATOR = re.compile(r"[^\w\s\"']{1,6}")
_TYPES = """
SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT SHOW_REF SUBQUERY
TABLE_FUNCTION DISTINCT_MODIFIER LIMIT_MODIFIER ORDER_MODIFIER ASCENDING DESCENDING ORDER_DEFAULT
"""
_CLASSES = """
BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA LAMBDA_REF OPERATOR
POSITIONAL_REFERENCE STAR SUBQUERY TYPE WINDOW
"""
TYPES, CLASSES = frozenset(_TYPES.split()), frozenset(_CLASSES.split())
# A nested list is stored as JSON text. Without this macro, `len` and `length` would count its characters.
COUNTS_ELEMENTS = """CREATE MACRO {name}(value) AS
CASE WHEN typeof(value) = 'JSON' AND json_type(TRY_CAST(value AS JSON)) = 'ARRAY'
THEN json_array_length(TRY_CAST(value AS JSON))::BIGINT ELSE system.main.{name}(value) END"""


class StatementRejected(Exception):
    """The statement was rejected. `answer`: the kind of error and its details."""

    def __init__(self, kind: str, **about: Any) -> None:
        super().__init__(kind)
        self.answer = {"error": kind, **about}


class SandboxStatement:
    """One parsed SELECT over `tables`. `check` raises StatementRejected for anything else."""

    def __init__(self, tree: Mapping[str, Any], tables: Iterable[str], system_names: frozenset[str]) -> None:
        self.tree = tree
        self.system_names = system_names
        self.tables = set(tables)

    def check(self) -> None:
        for node in _objects(self.tree):
            self.tables.update(self._own_name(entry) for entry in node.get("cte_map", {}).get("map", ()))
            if isinstance(name := node.get("cte_name"), str) and name:
                self.tables.add(self._own_name({"key": name}))
        for node in _objects(self.tree):
            self._check(node)

    def _own_name(self, entry: Mapping[str, Any]) -> str:
        """A name that WITH defines. A system name is rejected: it would be allowed in the whole statement, and outside
        the scope of that WITH it would read the system's own table."""
        name = str(entry["key"]).lower()
        if name in self.system_names or name.startswith(("duckdb_", "pg_", "pragma_", "sqlite_")):
            raise StatementRejected("name", name=name)
        return name

    def _check(self, node: Mapping[str, Any]) -> None:
        kind = node.get("type")
        if "class" in node:
            if node["class"] == "PARAMETER":
                raise StatementRejected("parameter")
            if node["class"] not in CLASSES:
                raise StatementRejected("forbidden")
        elif isinstance(kind, str) and kind not in TYPES:
            raise StatementRejected("forbidden")
        if kind == "BASE_TABLE" and (len(_path(node)) != 1 or node["table_name"].lower() not in self.tables):
            raise StatementRejected("table", name=".".join(_path(node)))
        if kind == "SHOW_REF" and node["query"] is None:
            raise StatementRejected("forbidden")
        if kind == "TABLE_FUNCTION":
            _check_function(node["function"], TABLE_FUNCTIONS)
        if "function_name" in node:
            _check_function(node, FUNCTIONS | TABLE_FUNCTIONS)


def _check_function(node: Mapping[str, Any], allowed: frozenset[str]) -> None:
    name = str(node.get("function_name", "")).lower()
    if len(_path(node)) != 1 or not (name in allowed or OPERATOR.fullmatch(name)):
        close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.75)
        raise StatementRejected("function", name=name, detail="".join(close))


def _path(node: Mapping[str, Any]) -> list[str]:
    return list(node["qualified_name"]["path"])


def _objects(tree: Any) -> Iterator[Mapping[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


# -- The engine -------------------------------------------------------------------------------------


class Engine:
    def __init__(self, plan: Mapping[str, Any], frame: Callable[[], bytes]) -> None:
        self.plan = plan
        self.connection = duckdb.connect(":memory:", config=_locked_down(plan["memory_mb"]))
        for table in plan["tables"]:
            self._fill(table["name"], table["columns"], table["batches"], frame)
        for name in ("len", "length"):
            self.connection.execute(COUNTS_ELEMENTS.format(name=name))
        system = self.connection.execute("SELECT lower(view_name) FROM duckdb_views()").fetchall()
        self.system_names = frozenset(str(name) for (name,) in system)
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute(f"SET max_execution_time = {int(plan['seconds'] * 1000)}")
        self.connection.execute("SET lock_configuration = true")

    def _fill(self, table: str, columns: list[list[str]], batches: int, frame: Callable[[], bytes]) -> None:
        declared = ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns)
        self.connection.execute(f"CREATE TABLE {_quoted(table)} ({declared})")
        values = ", ".join(f"unnest(from_json(?, '[\"{kind}\"]'))" for _, kind in columns)
        for _ in range(batches):
            batch = [frame().decode() for _ in columns]
            self.connection.execute(f"INSERT INTO {_quoted(table)} SELECT {values}", batch)

    def select(self, sql: str) -> dict[str, Any]:
        statement, tree = self._checked(sql)
        self.connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            result = self.connection.execute(statement)
            described = result.description or []
            self._check_width(len(described))
            names, types = [str(name) for name, *_ in described], [str(kind) for _, kind, *_ in described]
            if any("WITH TIME ZONE" in kind for kind in types):
                raise StatementRejected("time_zone")
            about = {"types": types, "tree": tree if self.plan["explains"] else ""}
            return {**about, **self._fetched(result, names, types)}
        finally:
            with contextlib.suppress(duckdb.Error):  # an error has ended the transaction already
                self.connection.execute("ROLLBACK")

    def _checked(self, sql: str) -> tuple[Any, str]:
        """Parses `sql` and checks that it is one allowed SELECT; returns the statement and the JSON of its tree.
        Raises StatementRejected."""
        written = self.connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
        tree = json.loads(written[0]) if written else {"error": True}
        if tree["error"]:
            if tree.get("error_type") == "parser":
                detail = str(tree["error_message"])[:MAX_MESSAGE_CHARS]
                raise StatementRejected("syntax", detail=detail, position=int(tree.get("position") or 0))
            raise StatementRejected("forbidden")
        statements = self.connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise StatementRejected("forbidden")
        SandboxStatement(tree, (table["name"].lower() for table in self.plan["tables"]), self.system_names).check()
        self._check_width(max((len(node.get("select_list", ())) for node in _objects(tree)), default=0))
        return statements[0], written[0] if written else ""

    def _check_width(self, columns: int) -> None:
        if columns > self.plan["most_columns"]:
            raise StatementRejected("wide", detail=f"{columns:,}", position=self.plan["most_columns"])

    def _fetched(self, result: Any, columns: list[str], types: list[str]) -> dict[str, Any]:
        """The rows, up to the limits of a response. One more row is fetched to find out whether there is more."""
        cells = [_json_cell if kind in ("JSON", "JSON[]") else plain for kind in types]
        rows: list[str] = []
        room = self.plan["most_bytes"]
        most_rows = min(self.plan["most_rows"], self.plan["most_cells"] // max(len(columns), 1))
        names = sum(map(len, columns))  # each row of the response repeats them
        while found := result.fetchmany(FETCHED_ROWS):
            for row in found:
                values = [_flat(cell(value)) for cell, value in zip(cells, row, strict=True)]
                text = json.dumps(values, ensure_ascii=False)
                room -= len(text) + names
                if len(rows) == most_rows or room < 0:
                    if not rows:
                        raise StatementRejected("large")
                    return {"columns": columns, "rows": rows, "more": True}
                rows.append(text)
        return {"columns": columns, "rows": rows, "more": False}


def _locked_down(memory_mb: int) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
        "python_scan_all_frames": False,
        "temp_directory": "",
        "max_temp_directory_size": "0B",
        "memory_limit": f"{memory_mb}MiB",
        "threads": 1,
    }


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


# -- Cells ------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A cell as a JSON value. Dates and moments are in ISO format, bytes in base64. Integers over 64 bits and decimals
    that no float represents exactly are texts; NaN and infinity are null."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -(2**63) <= value < 2**63 else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return _shortest(value)
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case list() | tuple():
            return [plain(element) for element in value]
        case dict():
            return {_name(plain(name)): plain(below) for name, below in value.items()}
        case _:
            return str(value)


def _shortest(value: Decimal) -> int | float | str | None:
    if not value.is_finite():
        return None
    if value == (whole := int(value)):
        return whole if -(2**63) <= whole < 2**63 else str(whole)
    near = float(value)
    return near if Decimal(repr(near)) == value else str(value)


def _name(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json_cell(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_cell(element) for element in value]
    try:
        return None if value is None else plain(json.loads(value))
    except RecursionError:
        return value  # too deeply nested to parse: return the text


def _flat(cell: Any) -> Any:
    """The cell, or the text of its JSON if it is nested deeper than DEEPEST_CELL."""
    if not isinstance(cell, (dict, list)):
        return cell
    level = [cell]
    for _ in range(DEEPEST_CELL):
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each)
            if isinstance(below, (dict, list))
        ]
        if not level:
            return cell
    return json.dumps(cell, ensure_ascii=False)


# -- The process ------------------------------------------------------------------------------------


def respond(engine: Engine, sql: str) -> dict[str, Any]:
    try:
        return engine.select(sql)
    except StatementRejected as rejected:
        return rejected.answer
    except duckdb.ParserException as error:
        return {"error": "syntax", "detail": _first_line(error)}
    except duckdb.InterruptException:
        return {"error": "time"}
    except (duckdb.OutOfMemoryException, MemoryError):
        return {"error": "memory"}
    except (duckdb.DataError, duckdb.BinderException, duckdb.CatalogException, duckdb.InvalidInputException) as error:
        return {"error": "wrong", "detail": _first_line(error)}
    except RecursionError:
        return {"error": "nested"}
    except (duckdb.Error, RuntimeError, ValueError, OverflowError, TypeError):
        return {"error": "failed"}  # the engine's internal messages do not leave this process


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")[:MAX_MESSAGE_CHARS]


def serve(reading: BinaryIO, writing: BinaryIO) -> None:
    """Builds the tables from the first frames, then answers each frame with one frame until stdin ends."""

    def frame() -> bytes:
        (size,) = HEADER.unpack(_exactly(reading, HEADER.size))
        return _exactly(reading, size)

    def reply(document: Mapping[str, Any]) -> None:
        data = _json_text(document).encode("utf-8", "replace")
        writing.write(HEADER.pack(len(data)) + data)
        writing.flush()

    plan = json.loads(frame())
    _limit_memory(plan["memory_mb"])
    _alarm(BUILD_SECONDS)
    engine = Engine(plan, frame)
    _alarm(0)
    reply({"ok": True})
    while True:
        sql = frame().decode()
        _alarm(plan["seconds"] + GRACE_SECONDS)
        document = respond(engine, sql)
        _alarm(0)
        reply(document)


def _json_text(document: Mapping[str, Any]) -> str:
    """The document as JSON. Its rows are already JSON texts."""
    head = json.dumps({name: value for name, value in document.items() if name != "rows"}, ensure_ascii=False)
    return f'{head[:-1]}, "rows": [{",".join(document["rows"])}]}}' if "rows" in document else head


def _exactly(reading: BinaryIO, size: int) -> bytes:
    data = reading.read(size)
    if len(data) != size:
        raise SystemExit  # the gateway has closed this database
    return data


def _alarm(seconds: float) -> None:
    """Makes the system kill this process after `seconds`, whatever it is doing; 0 cancels the alarm."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit_memory(memory_mb: int) -> None:
    most = (memory_mb + OVERHEAD_MB) * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that the engine prints must not mix with the frames
    serve(sys.stdin.buffer, answers)
