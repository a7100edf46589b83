"""Figures formatted for people."""

from django.template.defaultfilters import filesizeformat

NOTHING = "–"  # no data, which is not zero
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


def milliseconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}{SPACE}ms" if value >= 10 else f"{value:.1f}{SPACE}ms"


def size(value: float | None) -> str:
    return NOTHING if value is None else filesizeformat(value)


def short(value: float) -> str:
    """1,234 · 12.3 k · 4.56 M · -12.3 k"""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * factor or (abs(value) >= factor and unit != "k"):
            return f"{value / factor:.3g}{SPACE}{unit}"
    return f"{value:,.0f}"
