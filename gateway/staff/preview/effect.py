"""The effect of new budgets on the newest recorded calls: answers whose data is still stored are computed again under
both budgets, as far as there is time. The others are estimated from their sizes."""

import time
from collections.abc import Mapping, Sequence

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import CallError
from context_protection.core.scopes import Breadth, BudgetScope
from context_protection.layers.budgets import Budgets
from context_protection.layers.declarations import declared
from gateway.catalog.catalog import catalogue
from gateway.replay import caller_for_staff
from gateway.staff.preview import sources
from gateway.staff.preview.answers import PreviewedAnswer, compared
from gateway.staff.preview.forecast import Forecast, PredictedAnswer, forecast
from gateway.staff.preview.sizes import RecordedSize, recorded_sizes
from telemetry.queries import Selection
from telemetry.queries.selection import DimensionFilter

RENDER_SECONDS = 0.3  # after this time, no further answer is computed again
MOST_BLOCKS = 2  # of a snapshot whose answer is computed again: some hundred rows


def effect(scope: BudgetScope, now: Budgets, new: Budgets) -> Forecast:
    """`scope`: the calls to compare. Blocks; calls no upstream, stores and records nothing."""
    sizes = recorded_sizes(selection_of(scope))
    return forecast(
        sizes,
        now.policy,
        new.policy,
        revision=str(revisions.current()),
        fills_pages=_fills_pages,
        rendered=_rendered(sizes, now, new),
    )


def selection_of(scope: BudgetScope) -> Selection:
    """The calls that the scope covers."""
    found: tuple[DimensionFilter, ...] = ()
    match scope.breadth:
        case Breadth.CONNECTOR:
            found = (DimensionFilter("connector", scope.connector),)
        case Breadth.PATTERN:
            names = [name for name, each in declared.items() if scope.covers(name, each.connector, scope.caller)]
            found = tuple(DimensionFilter("tool", name) for name in names or [scope.operation])
        case Breadth.OPERATION:
            found = (DimensionFilter("tool", scope.operation),)
    of_caller = (DimensionFilter("key", scope.caller),) if scope.caller else ()
    return Selection((*found, *of_caller))


def _fills_pages(name: str) -> bool:
    operation = catalogue.find(name)
    return operation is not None and (operation.fills_pages or operation.shape.fills_pages)


def _rendered(
    sizes: Sequence[RecordedSize], now: Budgets, new: Budgets
) -> Mapping[int, tuple[PredictedAnswer, PredictedAnswer]]:
    """The answers that were computed under both budgets, by the index of their call in `sizes`."""
    until = time.perf_counter() + RENDER_SECONDS
    by_chain: dict[str, tuple[PredictedAnswer, PredictedAnswer] | None] = {}
    found = {}
    for place, size in enumerate(sizes):
        if not size.chain or size.page > 1 or "cursor" in size.arguments:
            continue
        if size.chain not in by_chain:
            if time.perf_counter() > until:
                break
            by_chain[size.chain] = _computed_again(size, now, new)
        if (pair := by_chain[size.chain]) is not None:
            found[place] = pair
    return found


def _computed_again(size: RecordedSize, now: Budgets, new: Budgets) -> tuple[PredictedAnswer, PredictedAnswer] | None:
    operation = catalogue.find(size.operation)
    before, after = now.policy(size.operation, size.caller), new.policy(size.operation, size.caller)
    if operation is None or before == after:
        return None
    try:
        snapshot = sources.snapshot_behind(size.chain)
        if snapshot is None or snapshot.plan.get("blocks", 0) > MOST_BLOCKS:
            return None
        caller = caller_for_staff(size.caller)
        if operation.is_async:
            source = sources.from_snapshot(operation, snapshot, caller)
        else:
            source = sources.read_again(operation, sources.given_in(snapshot, operation), caller)
    except CallError:
        return None  # then it is estimated
    if source is None:
        return None
    both = compared(source, before, after)
    return _exact(both.before), _exact(both.after)


def _exact(answer: PreviewedAnswer) -> PredictedAnswer:
    tokens = 0 if answer.is_refused else answer.claude_tokens
    return PredictedAnswer(tokens, answer.is_shortened, answer.is_paged, answer.is_refused, is_exact=True)
