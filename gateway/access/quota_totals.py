"""The tokens that all processes together have used of each key's quota today."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from context_protection.stores.lazy_redis import connect
from context_protection.stores.shared_store import deployment, shared_url
from telemetry import queries
from telemetry.measurement import CallOutcome
from telemetry.queries import Selection, Span

KEPT_SECONDS = 2 * 86_400
MOST_KEYS = 100_000


def shared_totals(new: Mapping[str, int], day: datetime) -> Mapping[str, int]:
    """Adds a process's new tokens, by caller, to the totals in the shared store, and returns these totals. Empty
    without a shared store or without callers in `new`. Raises RedisError."""
    if not shared_url() or not new:
        return {}
    with connect(shared_url()).pipeline(transaction=False) as pipeline:
        for caller, tokens in new.items():
            name = f"sluice:quota:{deployment()}:{day:%Y-%m-%d}:{caller}"
            pipeline.incrby(name, tokens)
            pipeline.expire(name, KEPT_SECONDS)
        return dict(zip(new, pipeline.execute()[::2], strict=True))


def recorded_totals(names: Mapping[str, str], day: datetime) -> Mapping[str, int]:
    """Caller → tokens of its answered calls since the day began. `names`: caller → name of its key. All keys are read,
    because in a filter a name such as `!desk` or `desk*` would select other keys. Raises DatabaseError."""
    if not names:
        return {}
    now = datetime.now(UTC) + timedelta(seconds=1)
    answered = Selection.of({"outcome": [f"!{CallOutcome.ERROR.value}"]})
    found = queries.groups(Span.of(day, now), answered, by=("key",), at_most=MOST_KEYS, wanted=queries.SUMS)
    tokens = {str(each.values[0]): each.figures.tokens_sent for each in found}
    return {caller: tokens.get(name, 0) for caller, name in names.items()}
