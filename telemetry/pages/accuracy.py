"""The accuracy of token counts: by class of content, over time, and the answers with the largest errors."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from telemetry import wording
from telemetry.audits import CLAUDE_TOLERANCE, FORMULA_TOLERANCE, LOOKED_AT, AuditFigures
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.boxes import BoxDrawing, draw
from telemetry.pages.charts import Chart, Line, chart
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Cell, Table, TableColumn, table
from telemetry.queries import Span
from telemetry.queries.accuracy import Accuracy, AuditedAnswer, ClassAccuracy, accuracy

BUDGET = 4_000  # tokens; the example in a note
FEW = 20  # with fewer answers, a class's shares say little


@dataclass(frozen=True, slots=True)
class ClassRow:
    name: str
    count: str
    few: bool
    formula: BoxDrawing
    formula_median: str
    formula_within: str
    claude: BoxDrawing
    claude_median: str
    claude_within: str
    far_under: str


@dataclass(frozen=True, slots=True)
class AccuracyReport:
    sentence: str
    notes: tuple[str, ...]
    rows: tuple[ClassRow, ...]
    trend: Chart
    worst: Table


@require_safe
@page(default_range="7d")
def token_accuracy(request: HttpRequest, address: Address) -> HttpResponseBase:
    span = Span.of(*address.span)
    if form := export.wanted(request):
        return export.exported(_worst(address, accuracy(span).worst), form, "token-accuracy-worst")
    panel = guarded("Token accuracy", lambda: _shown(address, span))
    return show(
        request,
        address,
        "telemetry/accuracy.html",
        title="Token accuracy",
        sentence=panel.content.sentence if panel.content else "",
        notes=panel.content.notes if panel.content else (),
        exports=export.FORMS,
        has_comparison=False,
        panel=panel,
    )


def _shown(address: Address, span: Span) -> AccuracyReport:
    found = accuracy(span)
    return AccuracyReport(
        sentence=_sentence(address, found.overall),
        notes=tuple(_notes(address, found)),
        rows=tuple(map(_row, found.classes)),
        trend=_trend(address, span, found),
        worst=_worst(address, found.worst),
    )


def _sentence(address: Address, overall: AuditFigures) -> str:
    if overall.formula_ratio is None or overall.claude_within is None:
        return f"No answer was counted in full {address.during}."
    return (
        f"The formula counts {_more_or_less(overall.formula_ratio - 1)} Claude "
        f"(median of {wording.plural(overall.count, 'answer')}); "
        f"Sluice’s own count is within ±{CLAUDE_TOLERANCE:.0%} for {wording.share(overall.claude_within)}."
    )


def _more_or_less(error: float) -> str:
    percent = wording.share(abs(error))
    if percent == "0.0%":
        return "as many tokens as"
    return f"{percent} {'less' if error < 0 else 'more'} than"


def _notes(address: Address, found: Accuracy) -> Sequence[str]:
    notes = []
    if address.filter_count:
        notes.append("Filters do not apply here: full counts are stored without their calls.")
    if found.is_cut:
        notes.append(f"Looked at: the newest {wording.whole(LOOKED_AT)} answers of this range.")
    ratio = found.overall.formula_ratio
    if ratio is not None and ratio < 1 - CLAUDE_TOLERANCE:
        through = wording.whole(round(BUDGET / ratio, -2))
        notes.append(
            f"Where budgets are decided by the formula, {wording.whole(BUDGET)} lets about {through} tokens through."
        )
    return notes


def _row(found: ClassAccuracy) -> ClassRow:
    return ClassRow(
        name=found.text_class or "(none)",
        count=wording.whole(found.figures.count),
        few=found.figures.count < FEW,
        formula=draw(found.formula, FORMULA_TOLERANCE),
        formula_median=signed(found.formula.p50),
        formula_within=wording.share(found.figures.formula_within),
        claude=draw(found.claude, CLAUDE_TOLERANCE),
        claude_median=signed(found.claude.p50),
        claude_within=wording.share(found.figures.claude_within),
        far_under=wording.share(found.far_under),
    )


def signed(error: float) -> str:
    """−39.0%, +1.2%"""
    text = wording.share(abs(error))
    return text if text == "0.0%" else f"{wording.MINUS if error < 0 else '+'}{text}"


def _trend(address: Address, span: Span, found: Accuracy) -> Chart:
    figures = [found.trend.get(start) for start in span.starts]
    formula = tuple(each.formula_within if each else None for each in figures)
    claude = tuple(each.claude_within if each else None for each in figures)
    return chart(
        address,
        key="trend",
        title="Answers counted within the target",
        unit="share",
        kind="lines",
        lines=[
            Line(f"Own count, ±{CLAUDE_TOLERANCE:.0%}", "s1", claude),
            Line(f"Formula, ±{FORMULA_TOLERANCE:.0%}", "s2", formula, "dashed"),
        ],
        starts=span.starts,
        step=span.step,
        empty="" if found.trend else f"No answer was counted in full {address.during}.",
    )


def _worst(address: Address, answers: Sequence[AuditedAnswer]) -> Table:
    return table(
        address,
        key="worst",
        title="The largest errors of the own count",
        columns=(
            TableColumn("time", "Time", is_number=False),
            TableColumn("tool", "Tool", is_number=False),
            TableColumn("content", "Content", is_number=False),
            TableColumn("actual", "Full count"),
            TableColumn("own", "Own count"),
            TableColumn("own_error", "Its error"),
            TableColumn("formula", "Formula"),
            TableColumn("formula_error", "Its error"),
        ),
        rows=[_answer(address, each) for each in answers],
        empty=f"No answer was counted in full {address.during}.",
        is_exported=True,
    )


def _answer(address: Address, each: AuditedAnswer) -> Sequence[Cell]:
    pair = each.pair
    return [
        Cell(wording.moment(each.at), value=each.at.isoformat()),
        Cell(each.operation, address.to("tool", each.operation) if each.operation else "", is_code=True),
        Cell(each.text_class),
        Cell(wording.whole(pair.actual_tokens), value=pair.actual_tokens),
        Cell(wording.whole(pair.claude_tokens), value=pair.claude_tokens),
        Cell(signed(pair.claude - 1), value=pair.claude - 1),
        Cell(wording.whole(pair.formula_tokens), value=pair.formula_tokens),
        Cell(signed(pair.formula - 1), value=pair.formula - 1),
    ]
