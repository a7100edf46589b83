"""A figure of a call, declared once in telemetry.measurement.

The columns of TelemetryRecord and their values, the counters of /metrics, the totals, the tiles and the admin's pages
are derived from these declarations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, get_args, get_origin, get_type_hints

# The value of an unmeasured field, by the field's type.
EMPTY: Mapping[type, Any] = {str: "", bool: False, int: 0, float: 0.0, datetime: None}

IN_A_TABLE_OF_ITS_OWN = "in a table of its own"  # annotates a field that is not a column of TelemetryRecord


class Group(StrEnum):
    """The headings of a call's admin page, in order."""

    CALL = ""
    OPERATION = "Operation"
    ANSWER = "Answer"
    UPSTREAM = "Upstream"
    TOKENS = "Tokens"
    PROTECTION = "Protection"


class Unit(StrEnum):
    COUNT = "count"
    BYTES = "bytes"
    MILLISECONDS = "ms"


@dataclass(frozen=True, slots=True)
class Metric:
    """A Prometheus counter that sums a figure by operation. Figures that share a counter differ in its label `kind`."""

    name: str
    help: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One declaration. A number needs a `unit`, a text a `max_length`."""

    label: str
    group: Group
    help: str = ""
    unit: Unit | None = None
    max_length: int | None = None
    default: Any = None  # None: the empty value of its type
    choices: Sequence[tuple[str, str]] | None = None
    is_indexed: bool = False
    is_listed: bool = False  # is a column of the admin's list of calls
    is_totalled: bool = False  # CallFigures.totals has its sum
    tile: str = ""  # the title of its tile above the admin's list; needs `is_totalled`
    metric: Metric | None = None
    is_estimate: bool = False  # by the formula; pages say so, because their other counts are Claude's
    # Filled in by `figures_of`.
    name: str = ""
    type: type = str
    field: str = ""  # the name of TelemetryRecord's field, if it differs from `name`
    column: str = ""  # the name of the table's column, if it differs from `field`

    def check(self) -> None:
        """Raises TypeError if the declaration is incomplete."""
        is_number = self.type in (int, float)
        if self.type not in EMPTY:
            raise TypeError(f"The figure {self.name} has no column for the type {self.type}.")
        if is_number != (self.unit is not None):
            raise TypeError(f"The figure {self.name} needs a unit if it is a number, and only then.")
        if (self.type is str) != (self.max_length is not None):
            raise TypeError(f"The figure {self.name} needs a max_length if it is a text, and only then.")
        if self.metric and not (is_number or self.type is bool):
            raise TypeError(f"The figure {self.name} cannot be added up in {self.metric.name}.")
        if (self.tile or self.is_totalled) and (not is_number or not self.is_totalled):
            raise TypeError(
                f"The figure {self.name} needs is_totalled for its tile, and must be a number to be totalled."
            )


def figures_of(measurement: type[Any]) -> Mapping[str, Figure]:
    """The figures in the annotations of a NamedTuple, by field name. Raises TypeError for an incomplete declaration."""
    hints = get_type_hints(measurement, include_extras=True)
    return {
        name: _complete(name, hints[name])
        for name in measurement.__annotations__
        if IN_A_TABLE_OF_ITS_OWN not in get_args(hints[name])
    }


def _complete(name: str, hint: Any) -> Figure:
    annotations = get_args(hint) if get_origin(hint) is Annotated else ()
    declared = next((each for each in annotations if isinstance(each, Figure)), None)
    if declared is None:
        raise TypeError(f"The field {name} is not declared: annotate it with a Figure.")
    field = declared.field or name
    default = EMPTY.get(annotations[0]) if declared.default is None else declared.default
    figure = replace(
        declared, name=name, type=annotations[0], field=field, column=declared.column or field, default=default
    )
    figure.check()
    return figure
