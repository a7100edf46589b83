"""Predicts what recorded calls would get under another budget, from their recorded sizes alone. It is an estimate,
except if the record shows that an answer stays as it was.

Only the sizes are read, so a thousand calls take some milliseconds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from context_protection.core.page_sizes import UNPAGED_ROWS
from context_protection.core.policy import DEFAULTS, Kind, Policy, RulerName
from gateway.staff.preview.sizes import RecordedSize

# Settings that change even an answer which is sent whole.
ON_EVERY_ANSWER = ("list_format", "meta_on_small_lists")


@dataclass(frozen=True, slots=True)
class PredictedAnswer:
    """One answer under one policy. `tokens`: as Claude counts. `is_exact`: it is not an estimate."""

    tokens: int
    is_shortened: bool = False
    is_paged: bool = False
    is_refused: bool = False
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class ForecastTotals:
    """`tokens`: sent in all answers, as Claude counts."""

    shortened: int
    paged: int
    refused: int
    tokens: int

    @classmethod
    def of(cls, answers: Sequence[PredictedAnswer]) -> "ForecastTotals":
        return cls(
            sum(each.is_shortened for each in answers),
            sum(each.is_paged for each in answers),
            sum(each.is_refused for each in answers),
            sum(each.tokens for each in answers),
        )


@dataclass(frozen=True, slots=True)
class Forecast:
    """The same calls under the budgets in force and under new ones. `exact`: calls whose figures are certain under
    both; the others are estimated. `changed`: calls whose answer would differ."""

    calls: int
    exact: int
    changed: int
    now: ForecastTotals
    new: ForecastTotals

    @property
    def estimated(self) -> int:
        return self.calls - self.exact


@dataclass(frozen=True, slots=True)
class LearnedSizes:
    """What the calls of one operation show about its short answers: the share of a row's tokens that a condensed row
    has, and the tokens of a record's preview. None if no call shows it."""

    condensed_share: float | None = None
    preview: float | None = None
    always_condenses: bool = False
    fills_pages: bool = False

    @classmethod
    def of(cls, sizes: Iterable[RecordedSize], *, fills_pages: bool = False) -> "LearnedSizes":
        sizes = [each for each in sizes if each.original and "fields" not in each.arguments]
        lists = [each for each in sizes if each.kind == Kind.LIST]
        shares = [each.sent / each.original for each in lists if each.is_summarized]
        previews = [each.sent for each in sizes if each.kind == Kind.RECORD and each.is_summarized]
        small = [each for each in lists if each.original <= each.threshold]
        return cls(
            condensed_share=min(1.0, median(shares)) if shares else None,
            preview=median(previews) if previews else None,
            always_condenses=bool(small) and all(each.is_summarized for each in small),
            fills_pages=fills_pages,
        )


PolicyOf = Callable[[str, str], Policy]  # (operation, caller)
Rendered = Mapping[int, tuple[PredictedAnswer, PredictedAnswer]]  # by the index of the call: now, new


def forecast(
    sizes: Sequence[RecordedSize],
    now: PolicyOf,
    new: PolicyOf,
    *,
    revision: str = "",
    fills_pages: Callable[[str], bool] = lambda _: False,
    rendered: Rendered | None = None,
) -> Forecast:
    """`revision`: that of the budgets in force; a call with this revision was answered under `now`. `rendered`: answers
    that were really computed under both."""
    learned = {
        name: LearnedSizes.of((each for each in sizes if each.operation == name), fills_pages=fills_pages(name))
        for name in {each.operation for each in sizes}
    }
    known = rendered or {}
    pairs = [
        known.get(place)
        or _pair(size, now(size.operation, size.caller), new(size.operation, size.caller), learned, revision)
        for place, size in enumerate(sizes)
    ]
    return Forecast(
        calls=len(pairs),
        exact=sum(before.is_exact and after.is_exact for before, after in pairs),
        changed=sum(_differ(before, after) for before, after in pairs),
        now=ForecastTotals.of([before for before, _ in pairs]),
        new=ForecastTotals.of([after for _, after in pairs]),
    )


def _pair(
    size: RecordedSize, now: Policy, new: Policy, learned: Mapping[str, LearnedSizes], revision: str
) -> tuple[PredictedAnswer, PredictedAnswer]:
    known = learned[size.operation]
    before = _as_recorded(size) if size.revision == revision != "" else predict(size, now, known)
    if now == new:
        return before, before
    after = predict(size, new, known, now)
    same_form = all(getattr(now, name) == getattr(new, name) for name in ON_EVERY_ANSWER)
    return before, after if same_form or not after.is_exact else PredictedAnswer(after.tokens)


def _differ(before: PredictedAnswer, after: PredictedAnswer) -> bool:
    """Whether the answer changes. Small differences do not count, because estimates of the same answer differ by
    rounding."""
    is_close = abs(before.tokens - after.tokens) <= max(1, before.tokens // 50)
    is_same_form = (before.is_shortened, before.is_paged, before.is_refused) == (
        after.is_shortened,
        after.is_paged,
        after.is_refused,
    )
    return not (is_close and is_same_form)


def _as_recorded(size: RecordedSize) -> PredictedAnswer:
    return PredictedAnswer(
        size.claude_tokens or size.sent, size.is_shortened, size.is_paged or size.is_chunked, is_exact=True
    )


def predict(size: RecordedSize, policy: Policy, known: LearnedSizes, now: Policy | None = None) -> PredictedAnswer:
    """`now`: the policy in force, if `policy` is to replace it."""
    if _stays_whole(size, policy):
        return PredictedAnswer(size.claude_tokens or size.sent, is_exact=True)
    match size.kind:
        case Kind.LIST:
            return _list(size, policy, known)
        case Kind.TEXT:
            return _text(size, policy, now or policy)
        case _:
            return _record(size, policy, known)


def _stays_whole(size: RecordedSize, policy: Policy) -> bool:
    """Whether an answer that was sent whole fits this policy too."""
    if size.is_shortened or size.is_paged or (size.page > 1 and size.kind == Kind.LIST):
        return False
    fits_page = size.kind != Kind.LIST or "limit" in size.arguments or size.rows <= policy.default_page_size
    return fits_page and _measured(size.sent, size, policy) <= policy.token_budget_threshold


def _measured(tokens: float, size: RecordedSize, policy: Policy) -> float:
    """Tokens by the count that decides the budget."""
    return tokens * size.claude_factor if policy.ruler is RulerName.CLAUDE else tokens


def _list(size: RecordedSize, policy: Policy, known: LearnedSizes) -> PredictedAnswer:
    if "limit" in size.arguments and size.rows > policy.max_page_size:
        return PredictedAnswer(0, is_refused=True)
    whole_row, sent_row = size.original / max(size.rows, 1), size.sent / max(size.rows, 1)
    asked = _rows_asked(size, policy, known)
    available = max(size.total_rows, size.rows) if size.is_paged or size.total_rows else size.rows
    rows = min(asked, available)
    if not policy.pagination and rows * whole_row <= policy.hard_cap and "fields" not in size.arguments:
        return PredictedAnswer(round(rows * whole_row * size.claude_factor), is_paged=rows < available)
    row, budget, is_condensed = whole_row, float(policy.token_budget_threshold), False
    if "fields" in size.arguments:
        row = sent_row
        budget = policy.hard_cap if size.sent > size.threshold else budget
    elif policy.summarization:
        is_over = _measured(rows * whole_row, size, policy) > budget
        is_condensed = known.always_condenses or is_over
        row = _condensed_row(size, known) if is_condensed else whole_row
    else:
        budget = policy.hard_cap
    fitting = int(budget // max(_measured(row, size, policy), 0.01))
    sent = max(1, min(rows, fitting)) if rows else 0
    return PredictedAnswer(
        round(sent * row * size.claude_factor),
        is_shortened=is_condensed or sent < rows,
        is_paged=sent < available,
    )


def _rows_asked(size: RecordedSize, policy: Policy, known: LearnedSizes) -> int:
    if not policy.pagination:
        return UNPAGED_ROWS
    if "limit" in size.arguments and not size.is_oversized:
        return size.rows  # with more rows to come, a page has as many as were asked for
    is_set = policy.default_page_size != DEFAULTS.default_page_size
    by_default = policy.max_page_size if known.fills_pages and not is_set else max(policy.default_page_size, 1)
    # A page that was cut shows only that more rows were asked for than it has.
    return max(by_default, size.rows) if "limit" in size.arguments else by_default


def _condensed_row(size: RecordedSize, known: LearnedSizes) -> float:
    if size.is_summarized:
        return size.sent / max(size.rows, 1)
    return size.original / max(size.rows, 1) * (known.condensed_share or 1.0)


def _record(size: RecordedSize, policy: Policy, known: LearnedSizes) -> PredictedAnswer:
    if "fields" in size.arguments:
        tokens = min(size.sent * size.claude_factor, policy.hard_cap)
        return PredictedAnswer(round(tokens), size.is_shortened, size.is_paged)
    is_over = _measured(size.original, size, policy) > policy.token_budget_threshold
    if policy.summarization and is_over:
        preview = size.sent if size.is_summarized else known.preview or policy.token_budget_threshold
        return PredictedAnswer(round(min(preview, size.original) * size.claude_factor), is_shortened=True)
    whole = size.original * size.claude_factor
    is_part = whole > policy.hard_cap
    return PredictedAnswer(round(min(whole, policy.hard_cap)), is_shortened=is_part, is_paged=is_part)


def _text(size: RecordedSize, policy: Policy, now: Policy) -> PredictedAnswer:
    """The chunks of prose have a size in tokens, those of a log in lines: both grow with their setting."""
    is_over = _measured(size.original, size, policy) > policy.token_budget_threshold
    if not policy.chunking or not is_over:
        whole = size.original * size.claude_factor
        is_part = whole > policy.hard_cap
        return PredictedAnswer(round(min(whole, policy.hard_cap)), is_shortened=is_part, is_paged=is_part)
    chunk = float(policy.chunk_tokens)
    if size.is_chunked:
        chunk = size.sent * (policy.chunk_tokens / now.chunk_tokens) * (policy.chunk_size / now.chunk_size)
    tokens = min(chunk, size.original, policy.hard_cap)
    return PredictedAnswer(round(tokens * size.claude_factor), is_shortened=True, is_paged=True)
