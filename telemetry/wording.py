"""Figures formatted for people."""

from datetime import datetime

from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from telemetry.figure import Unit

NOTHING = "–"  # no data (not zero)
SPACE = "\u00a0"


def whole(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f}{SPACE}%"


def compared(value: float, actual: float) -> str:
    """1,234 (−5.1 %): a count and its difference from the actual one."""
    if not actual:
        return whole(value)
    off = round(100 * (value / actual - 1), 1)
    return f"{value:,.0f} ({'−' if off < 0 else '+' if off else ''}{abs(off):.1f}{SPACE}%)"


def ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def factor(value: float | None) -> str:
    """× 1.36: what a figure is multiplied with."""
    return NOTHING if value is None else f"×{SPACE}{value:.2f}"


def milliseconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}{SPACE}ms" if value >= 10 else f"{value:.1f}{SPACE}ms"


def size(value: float | None) -> str:
    return NOTHING if value is None else filesizeformat(value)


def moment(value: datetime) -> str:
    """2026-11-20 12:00:59, in the time zone of the page."""
    return f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S}"


def minute(value: datetime) -> str:
    return f"{timezone.localtime(value):%Y-%m-%d %H:%M}"


def in_unit(value: float | None, unit: Unit | None) -> str:
    match unit:
        case Unit.MILLISECONDS:
            return milliseconds(value)
        case Unit.BYTES:
            return size(value)
        case _:
            return whole(value)


def short(value: float) -> str:
    """1,234 · 12.3 k · 4.56 M · -12.3 k"""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * factor or (abs(value) >= factor and unit != "k"):
            return f"{value / factor:.3g}{SPACE}{unit}"
    return f"{value:,.0f}"
