"""The list of tools, with those that are never called and those whose lists are read page by page."""

from collections.abc import Sequence
from datetime import timedelta

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import facts, queries, wording
from telemetry.call_figures import GroupFigures
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.group_table import group_table, groups_of
from telemetry.pages.overview import nothing
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Span

UNUSED_DAYS = 30
MUCH_PAGING = 3.0  # pages read of a list, on average
PAGED_LISTS = 5  # with fewer lists, the average says little
BY = ("tool",)


@require_safe
@page(since_first=queries.first_call_at)
def tools(request: HttpRequest, address: Address) -> HttpResponseBase:
    if form := export.wanted(request):
        return export.exported(_table(address), form, "tools")
    groups, unused = guarded("Tools", lambda: _table(address)), guarded("Never called", lambda: _unused(address))
    return show(
        request,
        address,
        "telemetry/tools.html",
        title="Tools",
        sentence=_sentence(groups.content, unused.content),
        exports=export.FORMS,
        groups=groups,
        unused=unused,
        paging=guarded("Lists read page by page", lambda: _paging(address)),
    )


def _sentence(called: Table | None, unused: Table | None) -> str:
    if called is None or unused is None:
        return ""
    idle = f", {wording.whole(unused.count)} not called in {UNUSED_DAYS} days" if unused.count else ""
    return f"{wording.plural(called.count, 'tool')} called{idle}."


def _table(address: Address) -> Table:
    return group_table(address, address.selection, BY, title="Tools", empty=nothing(address))


def _paging(address: Address) -> Table:
    groups = [group for group in groups_of(address, address.selection, BY) if _pages(group) >= MUCH_PAGING]
    rows = [
        [
            Cell(group.values[0], address.to("tool", group.values[0]), is_code=True),
            Cell(wording.whole(_lists(group)), value=_lists(group)),
            Cell(f"{_pages(group):.1f}", value=_pages(group)),
            Cell(wording.whole(group.figures.later_pages), value=group.figures.later_pages),
        ]
        for group in sorted(groups, key=_pages, reverse=True)
    ]
    columns = (
        TableColumn("tool", "Tool", is_number=False),
        TableColumn("lists", "Lists"),
        TableColumn("pages", "Pages a list"),
        TableColumn("later", "Calls for later pages"),
    )
    return table(
        address,
        key="paging",
        title="Lists read page by page",
        columns=columns,
        rows=rows,
        note=f"{MUCH_PAGING:.0f} pages or more a list, on average. A filter or a larger budget saves calls.",
        empty=f"No tool has its lists read {MUCH_PAGING:.0f} pages deep or more.",
    )


def _lists(group: GroupFigures) -> int:
    """The number of lists: calls for a first page."""
    return group.figures.list_calls - group.figures.later_pages


def _pages(group: GroupFigures) -> float:
    return group.figures.list_calls / _lists(group) if _lists(group) >= PAGED_LISTS else 0.0


def _unused(address: Address) -> Table:
    """The tools that had no call in the last month, whatever the range of the page."""
    span = Span.of(address.now - timedelta(days=UNUSED_DAYS), address.now)
    called = {group.values[0] for group in queries.groups(span, by=BY, at_most=100_000, wanted=queries.COUNTS)}
    unused = [each for name, each in facts.tools.all().items() if name not in called and each.is_listed]
    rows = _unused_rows(address, unused)
    cost = sum(each.tokens for each in unused)
    return table(
        address,
        key="unused",
        title=f"Not called in {UNUSED_DAYS} days",
        columns=(
            TableColumn("tool", "Tool", is_number=False),
            TableColumn("kind", "Kind", is_number=False),
            TableColumn("tokens", "Tokens in the list"),
        ),
        rows=rows,
        note=f"{wording.plural(len(unused), 'tool')}, {wording.whole(cost)} tokens in every conversation.",
        empty=f"Every tool was called in the last {UNUSED_DAYS} days.",
    )


def _unused_rows(address: Address, unused: Sequence[facts.ToolFacts]) -> list[list[Cell]]:
    return [
        [
            Cell(each.name, address.to("tool", each.name), is_code=True),
            Cell("reads" if each.is_reading else "writes"),
            Cell(wording.whole(each.tokens), value=each.tokens),
        ]
        for each in sorted(unused, key=lambda each: -each.tokens)
    ]
