"""All queries on calls. Every panel of the pages, /health and the REST API read their figures here, so that they agree.

Span + Selection ──► totals, series, groups   sums, from rollups and from the calls that no rollup has yet
                 └─► records, facets          single calls
"""

from telemetry.queries.facts import first_call_at, health, lacking, last_answer, last_call_at, last_failure, names
from telemetry.queries.records import (
    Facets,
    Newer,
    Position,
    RecordPage,
    facets,
    neighbours,
    records,
    select,
    stored_after,
)
from telemetry.queries.selection import DIMENSIONS, InvalidFilter, Selection
from telemetry.queries.sources import (
    COUNTS,
    COUNTS_AND_TIMES,
    EVERYTHING,
    SUMS,
    SUMS_AND_TIMES,
    SUMS_AND_UPSTREAM_TIMES,
    TABLES,
)
from telemetry.queries.span import Span
from telemetry.queries.sums import groups, intervals, series, totals
from telemetry.rollups.summation import MeasureSet

__all__ = [
    "COUNTS",
    "COUNTS_AND_TIMES",
    "DIMENSIONS",
    "EVERYTHING",
    "SUMS",
    "SUMS_AND_TIMES",
    "SUMS_AND_UPSTREAM_TIMES",
    "TABLES",
    "Facets",
    "InvalidFilter",
    "MeasureSet",
    "Newer",
    "Position",
    "RecordPage",
    "Selection",
    "Span",
    "facets",
    "first_call_at",
    "groups",
    "health",
    "intervals",
    "lacking",
    "last_answer",
    "last_call_at",
    "last_failure",
    "names",
    "neighbours",
    "records",
    "select",
    "series",
    "stored_after",
    "totals",
]
