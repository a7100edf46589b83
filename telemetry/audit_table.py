"""The table above the list of audits, formatted for display: a row for each class of texts, and one for all."""

from dataclasses import dataclass

from telemetry import audits, wording
from telemetry.audits import AuditFigures


@dataclass(frozen=True, slots=True)
class AuditRow:
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditTable:
    columns: tuple[str, ...]
    rows: tuple[AuditRow, ...]
    total: AuditRow
    looked_at: str


def audit_table(chosen: audits.Audits) -> AuditTable:
    """The table for the newest 5,000 of `chosen`."""
    return AuditTable(
        columns=(
            "Audits",
            "Formula within ±20%",
            "Usual factor, formula estimate to Claude's count",
            "Our count within ±10%",
            "Our count, median ratio",
        ),
        rows=tuple(AuditRow(each.text_class, _cells(each.figures)) for each in audits.by_class(chosen)),
        total=AuditRow("all", _cells(audits.summary(chosen))),
        looked_at=wording.whole(audits.LOOKED_AT),
    )


def _cells(seen: AuditFigures) -> tuple[str, ...]:
    return (
        wording.whole(seen.count),
        wording.share(seen.formula_within),
        wording.factor(1 / seen.formula_ratio if seen.formula_ratio else None),
        wording.share(seen.claude_within),
        wording.ratio(seen.claude_ratio),
    )
