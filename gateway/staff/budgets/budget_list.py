"""The list of budgets: what applies to all tools and to each tool, even before any budget is saved."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from context_protection.configuration import policies
from context_protection.core.policy import Kind
from context_protection.core.scopes import EVERYTHING, Breadth, BudgetScope
from context_protection.core.setting import Problem
from context_protection.layers.budgets import Budgets
from context_protection.layers.declarations import declared
from context_protection.models import TokenBudget
from gateway.staff.budgets.budget_page import SEE
from gateway.staff.budgets.scopes import link_to, scope_at, title_of
from telemetry import facts, queries, wording
from telemetry.call_figures import CallFigures
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.recommendation import FEWEST, FITS, Recommendation, budget_recommendation
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Span

MONTH = timedelta(days=30)
MOST_RECOMMENDED = 20  # tools that get a recommendation; each takes a query
SHOWN = ("token_budget_threshold", "hard_cap", "default_page_size")
COLUMNS = (
    TableColumn("scope", "For", is_number=False),
    TableColumn("budget", "Budget"),
    TableColumn("cap", "Hard cap"),
    TableColumn("page", "Rows a page"),
    TableColumn("source", "From", is_number=False),
    TableColumn("calls", "Calls, 30 days"),
    TableColumn("oversized", "Oversized"),
    TableColumn("recommendation", "Recommendation", is_number=False),
)


@page(needs=SEE, default_range="30d")
@require_safe
def budgets(request: HttpRequest, address: Address) -> HttpResponseBase:
    if chosen := request.GET.get("scope", "").strip():
        return _opened(request, address, chosen)
    return _listed(request, address)


def _opened(request: HttpRequest, address: Address, chosen: str) -> HttpResponseBase:
    """The page of the scope that was typed or chosen."""
    scope = scope_at(chosen, request.GET.get("caller", "").strip())
    if scope is not None:
        return HttpResponseRedirect(link_to(scope))
    return _listed(request, address, f"There is no tool or connector {chosen[:80]}. A pattern has a *, as in nsip_*.")


def _listed(request: HttpRequest, address: Address, problem: str = "") -> HttpResponseBase:
    now = policies.budgets()
    stored = policies.with_last_good(TokenBudget.objects.budgets())
    by_tool = guarded("Figures", lambda: _figures(address)).content
    own = sum(any(value is not None for value in values.values()) for values in now.admin.values())
    tools = wording.plural(len(declared), "tool")
    return show(
        request,
        address,
        "budgets/budgets.html",
        title="Budgets",
        sentence=f"{wording.plural(own, 'budget')} saved here, for {tools}."
        if own
        else f"No budget is saved here. What is listed applies to {tools}.",
        has_comparison=False,
        has_recorder_notes=False,
        table=_table(address, now, by_tool),
        rejected=[(title_of(scope), link_to(scope), _sentences(found)) for scope, found in stored.rejected.items()],
        problem=problem,
        tools=sorted(declared),
        connectors=sorted({each.connector for each in declared.values() if each.connector}),
        keys=sorted(facts.keys.all()),
        this=reverse("budgets:budgets"),
    )


def _sentences(problems: Sequence[Problem]) -> str:
    return " ".join(each.sentence for each in problems)


def _figures(address: Address) -> Mapping[str, CallFigures]:
    span = Span.of(address.now - MONTH, address.now)
    groups = queries.groups(span, by=("tool",), at_most=100_000, wanted=queries.COUNTS)
    return {str(group.values[0]): group.figures for group in groups}


def _table(address: Address, now: Budgets, by_tool: Mapping[str, CallFigures] | None) -> Table:
    scopes = _scopes(now)
    advised = _recommendations(address, by_tool or {})
    rows = [_row(scope, now, by_tool, advised.get(scope.operation)) for scope in scopes]
    return table(
        address,
        key="budgets",
        title="What applies to each tool",
        columns=COLUMNS,
        rows=rows,
        note="The most specific budget wins: all tools, then connector, pattern, tool; then the same for one key.",
    )


def _scopes(now: Budgets) -> list[BudgetScope]:
    """All tools and the broad budgets first, then every tool with its budgets for single keys below it."""
    broad = [scope for scope in now.admin if scope.breadth in (Breadth.CONNECTOR, Breadth.PATTERN) or _is_of_key(scope)]
    tools = [BudgetScope(name) for name in sorted(declared)]
    gone = [scope for scope in now.admin if scope.breadth is Breadth.OPERATION and scope.operation not in declared]
    of_keys = [scope for scope in now.admin if scope.caller and scope.breadth is Breadth.OPERATION]
    below = {tool.operation: [scope for scope in of_keys if scope.operation == tool.operation] for tool in tools}
    listed = [each for tool in tools for each in (tool, *sorted(below[tool.operation], key=lambda each: each.rank))]
    return list(dict.fromkeys([EVERYTHING, *sorted(broad, key=lambda each: each.rank), *listed, *gone]))


def _is_of_key(scope: BudgetScope) -> bool:
    return bool(scope.caller) and scope.breadth is not Breadth.OPERATION


def _row(
    scope: BudgetScope, now: Budgets, by_tool: Mapping[str, CallFigures] | None, advised: Recommendation | None
) -> list[Cell]:
    figures = _figures_of(scope, by_tool)
    calls = figures.calls if figures else None
    over = figures.oversized_calls if figures else None
    share = over / calls if over is not None and calls else None
    title = title_of(scope)
    return [
        Cell(
            title[0].upper() + title[1:] if scope == EVERYTHING else title,
            link_to(scope),
            is_code=bool(scope.operation),
        ),
        *(_value(scope, now, name) for name in SHOWN),
        Cell(_source(scope, now)),
        Cell(wording.whole(calls), value=calls),
        Cell(wording.share(share), value=share, bar=share if share else None),
        _advice(scope, calls, share, advised),
    ]


def _figures_of(scope: BudgetScope, by_tool: Mapping[str, CallFigures] | None) -> CallFigures | None:
    if by_tool is None or scope.breadth is not Breadth.OPERATION or scope.caller:
        return None
    return by_tool.get(scope.operation, CallFigures())


def _value(scope: BudgetScope, now: Budgets, name: str) -> Cell:
    about = declared.get(scope.operation)
    if name == "default_page_size" and about is not None and about.kind is not Kind.LIST:
        return Cell(wording.NOTHING)
    policy = now.resolve(scope)
    value = getattr(policy, name)
    by = " (Claude)" if name == "token_budget_threshold" and policy.ruler == "claude" else ""
    return Cell(f"{value:,}{by}", value=value)


def _source(scope: BudgetScope, now: Budgets) -> str:
    """The sources of the three values, in words; only one if they are all the same."""
    words = [now.source(scope, name).words(scope) for name in SHOWN]
    return ", ".join(dict.fromkeys(words))


# -- Recommendations --------------------------------------------------------------------------------


def _recommendations(address: Address, by_tool: Mapping[str, CallFigures]) -> Mapping[str, Recommendation]:
    """The recommendations for the tools that most often exceed their budget."""
    over = {
        name: each
        for name, each in by_tool.items()
        if each.calls >= FEWEST and each.oversized_calls > FITS * each.calls
    }
    worst = sorted(over, key=lambda name: -over[name].oversized_calls)[:MOST_RECOMMENDED]
    known = facts.tools.all()
    return {name: budget_recommendation(address, known[name]) for name in worst if name in known}


def _advice(scope: BudgetScope, calls: int | None, share: float | None, advised: Recommendation | None) -> Cell:
    if calls is None:
        return Cell(wording.NOTHING)
    if calls < FEWEST:
        return Cell(f"too few calls ({FEWEST} needed)")
    if share is not None and share <= FITS:
        return Cell("fits")
    if advised is None:
        return Cell(wording.NOTHING)
    return Cell(advised.outcome, f"{link_to(scope)}{advised.query}" if advised.budget is not None else "")
