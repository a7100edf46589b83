"""The table of calls by one or two dimensions."""

from collections.abc import Mapping, Sequence

from telemetry import queries, wording
from telemetry.call_figures import CallFigures, GroupFigures
from telemetry.pages import words
from telemetry.pages.address import DIMENSIONS, Address
from telemetry.pages.conditions import bad_state
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Selection, Span

AT_MOST = 10_000  # groups; an export has as many rows
# The page about one value of a dimension.
PAGES: Mapping[str, str] = {"tool": "tool", "key": "caller", "upstream": "upstream"}
FIGURES = (
    TableColumn("calls", "Calls"),
    TableColumn("failed", "Failed"),
    TableColumn("p95", "p95"),
    TableColumn("sent", "Tokens sent"),
    TableColumn("saved", "Saved, net"),
    TableColumn("oversized", "Oversized"),
)
CHANGE = TableColumn("change", "Change")

Before = Mapping[tuple[object, ...], CallFigures]


def groups_of(address: Address, selection: Selection, by: tuple[str, ...]) -> Sequence[GroupFigures]:
    return queries.groups(Span.of(*address.span), selection, by=by, at_most=AT_MOST, wanted=queries.TABLES)


def group_table(address: Address, selection: Selection, by: tuple[str, ...], *, title: str, empty: str) -> Table:
    """The selected calls of the page's span, compared with the span before if the page compares."""
    groups, before = groups_of(address, selection, by), _before(address, selection, by)
    columns = [TableColumn(name, DIMENSIONS[name], is_number=False) for name in by]
    columns += [*FIGURES, *([CHANGE] if before is not None else [])]
    most = max((group.figures.calls for group in groups), default=0)
    rows = [
        [*_names(address, by, group), *_figures(address, by, group, most), *_change(group, before)] for group in groups
    ]
    note = f"Change: calls, vs {address.before_in_words}." if before is not None else ""
    return table(
        address,
        key="groups",
        title=title,
        columns=columns,
        rows=rows,
        sort="-calls",
        empty=empty,
        note=note,
        is_exported=True,
    )


def _before(address: Address, selection: Selection, by: tuple[str, ...]) -> Before | None:
    """Values → figures in the span before. None: no comparison, or no calls to compare with."""
    if not address.before:
        return None
    groups = queries.groups(Span.of(*address.before), selection, by=by, at_most=AT_MOST, wanted=queries.COUNTS)
    return {tuple(group.values): group.figures for group in groups} or None


def _names(address: Address, by: Sequence[str], group: GroupFigures) -> list[Cell]:
    return [
        Cell(
            words.value(name, value),
            _page_of(address, name, words.written(name, value)),
            value=str(value),
            is_code=name in ("tool", "key", "upstream"),
        )
        for name, value in zip(by, group.values, strict=True)
    ]


def _page_of(address: Address, dimension: str, value: str) -> str:
    """The page about a value, or this page filtered by it. "" for an empty value, because no filter can select it."""
    if not value:
        return ""
    return address.to(PAGES[dimension], value) if dimension in PAGES else address.filtered_by(**{dimension: value})


def _figures(address: Address, by: Sequence[str], group: GroupFigures, most: int) -> list[Cell]:
    seen = group.figures
    values = {name: words.written(name, value) for name, value in zip(by, group.values, strict=True)}
    has_names = all(values.values())
    calls = address.to("calls", **values) if has_names else ""
    failed = address.to("calls", **(values | {"outcome": "error"})) if has_names and seen.errors else ""
    return [
        Cell(wording.whole(seen.calls), calls, seen.calls, bar=seen.calls / most if most else 0),
        Cell(wording.share(seen.error_share), failed, seen.error_share, state=bad_state(seen)),
        Cell(wording.milliseconds(seen.latency.p95), value=seen.latency.p95),
        Cell(wording.whole(seen.tokens_sent), value=seen.tokens_sent),
        Cell(f"{wording.whole(seen.tokens_saved)} ({wording.share(seen.reduction)})", value=seen.tokens_saved),
        Cell(wording.share(seen.oversized_share), value=seen.oversized_share),
    ]


def _change(group: GroupFigures, before: Before | None) -> list[Cell]:
    if before is None:
        return []
    old = before.get(tuple(group.values))
    if old is None or not old.calls:
        return [Cell("new")]
    return [Cell(wording.change(group.figures.calls, old.calls), value=group.figures.calls / old.calls - 1)]
