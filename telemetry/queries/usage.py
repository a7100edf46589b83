"""The names of the arguments that calls of a tool use, never the values."""

from collections import Counter
from dataclasses import dataclass

from telemetry.models.arguments import CallArguments
from telemetry.queries.span import Span

NEWEST = 1000  # calls


@dataclass(frozen=True, slots=True)
class Usage:
    """`names`: each name with the number of `calls` that used it, the most used first."""

    calls: int
    names: tuple[tuple[str, int], ...]


def argument_usage(span: Span, tool: str) -> Usage:
    """The argument names of the newest NEWEST calls of the span that have them stored."""
    stored = CallArguments.objects.filter(operation=tool, at__gte=span.since, at__lt=span.until).order_by("-at")
    names = list(stored.values_list("names", flat=True)[:NEWEST])
    counts = Counter(name for used in names for name in set(used))
    return Usage(len(names), tuple(counts.most_common()))
