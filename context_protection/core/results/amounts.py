"""Finds out whether a parsed SQL statement mixes amounts of several currencies.

Amounts are followed by name from the tables through subqueries to the result. A statement mixes them if it adds, ranks,
compares or shows amounts of several currencies, unless their currency stands beside them or a condition selects one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import orjson

from context_protection.core.cached_property import cached_property
from context_protection.core.query import currencies
from context_protection.core.results.tabulation import Column, Tabulated

_AGGREGATING = """
sum avg mean favg fsum kahan_sum sumkahan min max median mode mad product geomean geometric_mean quantile quantile_cont
quantile_disc approx_quantile stddev stddev_pop stddev_samp variance var_pop var_samp sem arg_max arg_min argmax argmin
max_by min_by wavg weighted_avg
"""
_AGGREGATES = frozenset(_AGGREGATING.split())
# Functions, windows and operators whose results are never amounts.
_PLAIN = frozenset({"count", "count_star", "count_if", "countif", "approx_count_distinct", "sign", "typeof"})
_PLAIN_WINDOWS = ("WINDOW_ROW_NUMBER", "WINDOW_RANK", "WINDOW_NTILE", "WINDOW_PERCENT", "WINDOW_CUME")
_PLAIN_OPERATORS = ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_NOT", "COMPARE_IN", "COMPARE_NOT_IN")
_EQUAL = ("COMPARE_EQUAL", "COMPARE_NOT_DISTINCT_FROM")

_TABLES = ("BASE_TABLE", "TABLE_FUNCTION", "EXPRESSION_LIST")

MAX_ROUNDS = 30  # levels of subqueries through which names are followed
_NUMBERS = ("BIGINT", "HUGEINT", "DOUBLE")
Unit = tuple[str, tuple[str, ...]]  # the column with the currencies of a number, and the currencies that occur
_NO_UNIT: Unit = ("", ())

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Amount:
    """A column of amounts. `unit`: the column with their currencies; "" if there is none. `currencies`: those that
    occur."""

    table: str
    name: str
    unit: str
    currencies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """The unit of each column of a statement's result, and a note for the caller if the statement mixes currencies."""

    units: Sequence[Unit]
    notes: tuple[str, ...] = ()


def of_table(table: str, columns: Sequence[Column], built: Sequence[Tabulated]) -> list[Amount]:
    """The amount columns of a table: the declared ones and, if the table has a currency column, those with the name of
    an amount."""
    values = {each.name: each.values for each in built}
    units = {each.name: each.unit for each in columns if each.unit in values}
    currency = next((name for name in values if currencies.is_currency(name)), None)
    if currency is not None:
        numbers = (each.name for each in built if each.type in _NUMBERS or each.type.startswith("DECIMAL"))
        units = {name: currency for name in numbers if currencies.is_amount(name)} | units
    occurring = {unit: tuple(sorted({str(each) for each in values[unit] if each})) for unit in set(units.values())}
    computed = [Amount(table, each.name, "", each.units) for each in columns if each.units and each.name not in units]
    return [*(Amount(table, name, unit, occurring[unit]) for name, unit in units.items()), *computed]


def explained(tree: str, amounts: Sequence[Amount], names: Sequence[str]) -> Explained:
    """Explains a statement. `tree`: its parsed form as JSON. `names`: the columns of its result."""
    if not amounts:
        return Explained([_NO_UNIT] * len(names))
    try:
        statement = _Statement(orjson.loads(tree), amounts)
        mixed = statement.mixed()
        return Explained(statement.units_of_result(names), (_note(mixed),) if mixed else ())
    except (orjson.JSONDecodeError, RecursionError, _TooDeep):  # assume that the statement mixes them
        several = {each for each in amounts if len(each.currencies) > 1}
        return Explained([_NO_UNIT] * len(names), (_note(several),) if several else ())


class _TooDeep(Exception):
    """The statement's names cannot be followed to their tables within MAX_ROUNDS."""


class _Statement:
    """A parsed statement. `amounts`: those of all tables, used or not."""

    def __init__(self, tree: Node, amounts: Sequence[Amount]) -> None:
        self.tree = tree
        self.nodes = list(_nodes(tree))
        aliases = _aliases(self.nodes)
        self.amounts = [each for each in amounts if each.table.lower() in aliases.values()]
        self.queries = _Queries(self.nodes, self.amounts, self.limited_by)
        self.tables = {alias: table for alias, table in aliases.items() if table not in self.queries.named}
        # For each alias in subqueries and in the result: the amounts that its expression is computed from, and the
        # amounts that have its expression as their currency column.
        self.computed_from: dict[str, set[Amount]] = {}
        self.units: dict[str, set[Amount]] = {}
        self._follow_names(self.units, self.unit_of)
        self._follow_names(self.computed_from, self.amounts_in)

    def _follow_names(self, derived: dict[str, set[Amount]], amounts_of: Callable[[Node], set[Amount]]) -> None:
        """Repeats until no alias gets another amount. Raises _TooDeep if that takes more than MAX_ROUNDS."""
        named = [each for each in self.nodes if each.get("alias") and "class" in each]
        known = 0
        for _ in range(MAX_ROUNDS):
            for each in named:
                derived.setdefault(each["alias"].lower(), set()).update(amounts_of(each))
            found = sum(map(len, derived.values()))
            if found == known:
                return
            known = found
        raise _TooDeep

    # -- Names --------------------------------------------------------------------------------------

    def _resolved(self, reference: Node, attribute: str, derived: Mapping[str, set[Amount]]) -> set[Amount]:
        *above, name = (each.lower() for each in reference["column_names"])
        table = self.tables.get(above[-1]) if above else None
        found = {
            each
            for each in self.amounts
            if getattr(each, attribute).lower() == name and (table is None or each.table.lower() == table)
        }
        return found if table is not None else found | derived.get(name, set())

    def unit_of(self, node: Node) -> set[Amount]:
        """The amounts that have the expression as their currency column."""
        if node.get("class") == "CAST":
            return self.unit_of(node["child"])
        return self._resolved(node, "unit", self.units) if node.get("class") == "COLUMN_REF" else set()

    def amounts_in(self, node: Any) -> set[Amount]:
        """The amounts that the expression's value is computed from."""
        if isinstance(node, list):
            return set().union(*map(self.amounts_in, node))
        if not isinstance(node, dict):
            return set()
        match node.get("class"):
            case "COLUMN_REF":
                return self._resolved(node, "name", self.computed_from)
            case "COMPARISON" | "CONJUNCTION" | "BETWEEN":
                return set()
            case "OPERATOR" if node["type"] in _PLAIN_OPERATORS:
                return set()
            case "FUNCTION" if node["function_name"].lower() in _PLAIN:
                return set()
            case "WINDOW" if node["type"].startswith(_PLAIN_WINDOWS):
                return set()
            case "FUNCTION" | "WINDOW":
                return self.amounts_in(node["arguments"]) - self.limited_by(
                    node.get("filter") or node.get("filter_expr")
                )
            case "CASE":
                cases = (
                    self.amounts_in(each["then_expr"]) - self.limited_by(each["when_expr"])
                    for each in node["case_checks"]
                )
                return self.amounts_in(node["else_expr"]).union(*cases)
        return self.amounts_in(list(node.values()))

    # -- What the statement does --------------------------------------------------------------------

    def mixed(self) -> set[Amount]:
        """The amounts that the statement treats as if they were of one currency."""
        found = (self._shown() - self._selected(self._columns())) & self.queries.mixed_in(self._root)
        for query, nodes in self.queries.nodes_of_each():
            used = self._aggregated(query, nodes) | self._ranked(nodes) | self._compared(nodes)
            found |= used & self.queries.mixed_in(query)
        return found if len({name for each in found for name in each.currencies}) > 1 else set()

    @cached_property
    def _constants(self) -> dict[Amount, set[str]]:
        """The currencies with which the statement compares those of an amount."""
        found: dict[Amount, set[str]] = {}
        for each in self.nodes:
            for amount, constant in self._equations(each):
                found.setdefault(amount, set()).add(constant)
        return found

    def _equations(self, node: Node) -> Iterator[tuple[Amount, str]]:
        for one, other in _equal(node):
            for amount in self.unit_of(one) if other.get("class") == "CONSTANT" else ():
                yield amount, str(other["literal"])

    def limited_by(self, condition: Node | None) -> set[Amount]:
        """The amounts that a condition such as `currency = 'EUR' AND …` limits to the one currency that the statement
        names. If it names several, they may be mixed later."""
        equations = (pair for each in _conjuncts(condition) for pair in self._equations(each))
        return {amount for amount, _ in equations if len(self._constants[amount]) == 1}

    def _aggregated(self, query: Node, nodes: Sequence[Node]) -> set[Amount]:
        """The amounts that the query aggregates, unless their currency groups the rows."""
        aggregating = [each for each in nodes if each.get("function_name", "").lower() in _AGGREGATES]
        windows = [each for each in aggregating if each["class"] == "WINDOW"]
        functions = [each for each in aggregating if each["class"] != "WINDOW"]
        found = self.amounts_in(functions) - self._grouped(query, nodes) if functions else set()
        return found.union(*(self.amounts_in(each) - self._selected(each["partitions"]) for each in windows))

    def _grouped(self, query: Node, nodes: Sequence[Node]) -> set[Amount]:
        """The amounts whose currency groups the rows of a query with aggregates. Every column that it selects without a
        function counts as grouping, and so does one that must equal a column of an outer query."""
        found = self._selected([*query.get("select_list", ()), *query.get("group_expressions", ())])
        own = _aliases(nodes)
        for one, other in (pair for each in _conjuncts(query.get("where_clause")) for pair in _equal(each)):
            above = other.get("column_names", ())[:-1]
            if above and above[-1].lower() not in own:
                found |= self.unit_of(one)
        return found

    def _selected(self, columns: Iterable[Node]) -> set[Amount]:
        return set().union(*map(self.unit_of, columns))

    def _ranked(self, nodes: Iterable[Node]) -> set[Amount]:
        """The amounts that rows are ordered by, unless their currency comes earlier in the order, or the window is
        partitioned by it."""
        found: set[Amount] = set()
        for each in nodes:
            orders = [order["expression"] for order in each.get("orders", ()) if isinstance(order, dict)]
            before = self._selected(each.get("partitions", ()))
            for expression in orders:
                before |= self.unit_of(expression)
                found |= self.amounts_in(self._at_position(expression)) - before
        return found

    def _at_position(self, expression: Node) -> Any:
        """ORDER BY 2 means the second column of the result."""
        literal = expression.get("literal")
        position = int(literal["text"]) if literal and str(literal.get("text")).isdigit() else 0
        columns = self._columns()
        return columns[position - 1] if 0 < position <= len(columns) else expression

    def _compared(self, nodes: Iterable[Node]) -> set[Amount]:
        """The amounts that are compared with a constant other than 0, or with a range."""
        found: set[Amount] = set()
        for each in nodes:
            if each.get("class") == "BETWEEN":
                found |= self.amounts_in(each["input"])
            elif each.get("class") == "COMPARISON":
                for one, other in ((each["left"], each["right"]), (each["right"], each["left"])):
                    text = str((other.get("literal") or {}).get("text", "0"))
                    found |= self.amounts_in(one) if text.strip("0.") else set()
        return found

    def _shown(self) -> set[Amount]:
        columns = self._columns()
        return set() if any(each.get("class") == "STAR" for each in columns) else self.amounts_in(columns)

    def _columns(self) -> Sequence[Node]:
        """The columns of the result, as the statement lists them. Empty for UNION and other statements without a
        list."""
        columns: Sequence[Node] = self._root.get("select_list", [])
        return columns

    @property
    def _root(self) -> Node:
        root: Node = self.tree["statements"][0]["node"]
        return root

    # -- The result ---------------------------------------------------------------------------------

    def units_of_result(self, names: Sequence[str]) -> list[Unit]:
        """The units of the result's columns, which are called `names`."""
        columns = self._columns()
        if len(columns) != len(names) or any(each.get("class") == "STAR" for each in columns):
            columns = [{"class": "COLUMN_REF", "column_names": [name]} for name in names]
        units = {name: self.unit_of(each) for name, each in zip(names, columns, strict=True)}
        mixed = self.queries.mixed_in(self._root)
        return [self._unit(self.amounts_in(each) & mixed, units) for each in columns]

    def _unit(self, amounts: set[Amount], units: Mapping[str, set[Amount]]) -> Unit:
        if not amounts:
            return _NO_UNIT
        unit = next((name for name, each in units.items() if amounts <= each), "")
        return unit, () if unit else tuple(sorted({name for each in amounts for name in each.currencies}))


class _Queries:
    """The queries of a statement: SELECT, UNION and so on, also those in FROM and WITH. Each has the amounts of its
    sources without those that its own conditions limit to one currency."""

    def __init__(
        self,
        nodes: Sequence[Node],
        amounts: Sequence[Amount],
        limited_by: Callable[[Node | None], set[Amount]],
    ) -> None:
        self.amounts, self.limited_by = amounts, limited_by
        self.queries = [each for each in nodes if _is_query(each)]
        named = (entry for each in nodes for entry in (each.get("cte_map") or {}).get("map", ()))
        self.named = {each["key"].lower(): each["value"].get("query_node") for each in named}
        self._mixed: dict[int, set[Amount]] = {}
        self._open: list[Node] = []  # queries whose amounts are being found

    def nodes_of_each(self) -> Iterator[tuple[Node, Sequence[Node]]]:
        """Each query with its own nodes, without those of the queries in it."""
        for query in self.queries:
            yield query, [each for value in query.values() for each in _nodes(value, until=_is_query)]

    def mixed_in(self, query: Node) -> set[Amount]:
        """The amounts whose rows in this query may have several currencies."""
        if id(query) not in self._mixed:
            self._open.append(query)
            self._mixed[id(query)] = self._of_sources(query) - self._limited(query)
            self._open.remove(query)
        return self._mixed[id(query)]

    def _of_sources(self, query: Node) -> set[Amount]:
        """The amounts of the tables and queries that the query reads, or selects in its list of columns. Without any,
        it selects columns of an outer query."""
        is_select = query["type"] == "SELECT_NODE"
        sources = (
            [query["from_table"], query["select_list"]]
            if is_select
            else [query[key] for key in query.keys() - {"cte_map"}]
        )
        nodes = [*_nodes(sources, until=_is_query)]
        if not any(_is_query(each) or each.get("type") in _TABLES for each in nodes):
            return set(self.amounts)
        return set().union(*map(self._of_source, nodes))

    def _of_source(self, source: Node) -> set[Amount]:
        if _is_query(source):
            return self.mixed_in(source)
        if source.get("type") != "BASE_TABLE":
            return set()
        name = source["table_name"].lower()
        query = self.named.get(name)
        if query and not any(query is each for each in self._open):  # in it, the name means the table
            return self.mixed_in(query)
        return {each for each in self.amounts if each.table.lower() == name}

    def _limited(self, query: Node) -> set[Amount]:
        joins = (each for each in _nodes(query.get("from_table"), until=_is_query) if each.get("join_type") == "INNER")
        conditions = [query.get("where_clause"), *(each.get("condition") for each in joins)]
        return set().union(*map(self.limited_by, conditions))


def _aliases(nodes: Iterable[Node]) -> dict[str, str]:
    """The names under which the nodes read tables and named queries, each with the table's own name."""
    read = (each for each in nodes if each.get("type") == "BASE_TABLE")
    return {(each["alias"] or each["table_name"]).lower(): each["table_name"].lower() for each in read}


def _is_query(node: Node) -> bool:
    return str(node.get("type")).endswith("_NODE")


def _conjuncts(condition: Node | None) -> Iterator[Node]:
    """The conditions that must all hold."""
    if condition and condition.get("type") == "CONJUNCTION_AND":
        for each in condition["children"]:
            yield from _conjuncts(each)
    elif condition:
        yield condition


def _equal(node: Node) -> Iterator[tuple[Node, Node]]:
    """Both sides of an equation, in either order. `x IN (y)` counts as one."""
    sides = [node["left"], node["right"]] if node.get("type") in _EQUAL and "left" in node else []
    if node.get("type") == "COMPARE_IN" and len(node["children"]) == 2:
        sides = node["children"]
    yield from permutations(sides, 2)


def _note(mixed: set[Amount]) -> str:
    names = currencies.named(sorted({each.name for each in mixed}))
    units = currencies.named(sorted({each.unit for each in mixed if each.unit})) or "the currency"
    found = currencies.listed({name for each in mixed for name in each.currencies})
    return (
        f"{names}: amounts in {found} are mixed here; group, order or filter by {units} before adding, ranking or "
        "comparing them."
    )


def _nodes(tree: Any, until: Callable[[Node], bool] = lambda node: False) -> Iterator[Node]:
    """The nodes of the tree. What is below those for which `until` is true is left out."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            if not until(node):
                waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
