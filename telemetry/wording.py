"""Formats figures and times the same way on every page."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from django.utils import timezone

from telemetry.figure import Unit

NOTHING = "–"  # no data (not zero)
SPACE = "\u00a0"
MINUS = "−"
SECOND, MINUTE, HOUR, DAY = 1000.0, 60_000.0, 3_600_000.0, 86_400_000.0  # ms
SIZES = ("B", "KB", "MB", "GB", "TB")


def whole(value: float | None) -> str:
    """1,234: exact, for tables and screen readers."""
    return NOTHING if value is None else _signed(f"{value:,.0f}")


def short(value: float | None) -> str:
    """1,234 · 12.3k · 4.56M · −12.3k: for tiles and axes."""
    if value is None:
        return NOTHING
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= (10 * factor if unit == "k" else factor * 0.9995):
            return _signed(f"{_three_digits(value / factor)}{unit}")
    return whole(value)


def share(value: float | None) -> str:
    """5.8%, from a share of 0 to 1. Only exactly 0 and 1 become 0% and 100%; near them, it is <0.1% or >99.9%."""
    if value is None:
        return NOTHING
    if 0 < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1:
        return ">99.9%"
    return _signed(f"{100 * value:.1f}%")


def change(now: float | None, before: float | None) -> str:
    """+12%: the change from an earlier figure; "–" if there is nothing to compare with."""
    if now is None or not before:
        return NOTHING
    percent = 100 * (now / before - 1)
    if abs(percent) >= 1000:
        return f"×{SPACE}{now / before:,.0f}"
    return _with_plus(f"{percent:.0f}%")


def points(now: float | None, before: float | None) -> str:
    """+3.1 points: the change from an earlier share."""
    if now is None or before is None:
        return NOTHING
    return _with_plus(f"{100 * (now - before):.1f}") + f"{SPACE}points"


def compared(value: float, actual: float) -> str:
    """1,234 (−5.1%): a count and its difference from the actual one."""
    return f"{value:,.0f} ({_with_plus(f'{100 * (value / actual - 1):.1f}%')})" if actual else whole(value)


def ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def factor(value: float | None) -> str:
    """× 1.36: a multiplier."""
    return NOTHING if value is None else f"×{SPACE}{value:.2f}"


def milliseconds(value: float | None) -> str:
    """0.8 ms · 41 ms · 1.24 s · 2 min 5 s · 3 h 12 min"""
    if value is None:
        return NOTHING
    if value < 9.95:
        return f"{value:.1f}{SPACE}ms"
    if value < SECOND - 0.5:
        return f"{value:.0f}{SPACE}ms"
    if value < MINUTE - 5:
        return f"{_three_digits(value / SECOND)}{SPACE}s"
    return length(timedelta(milliseconds=value))


def length(value: timedelta) -> str:
    """45 s · 2 min 5 s · 3 h 12 min · 4 days: at most two units, for ages and spans."""
    seconds = round(value.total_seconds())
    if seconds >= 2 * 86_400:
        return f"{seconds // 86_400}{SPACE}days"
    if seconds >= 3600:
        return _two(seconds // 3600, "h", seconds % 3600 // 60, "min")
    if seconds >= 60:
        return _two(seconds // 60, "min", seconds % 60, "s")
    return f"{seconds}{SPACE}s"


def age(value: timedelta) -> str:
    """11 min: how long ago, in one unit. Shown only beside a time."""
    seconds = max(0, int(value.total_seconds()))
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= (2 * size if unit == "days" else size):
            return f"{seconds // size}{SPACE}{unit}"
    return f"{seconds}{SPACE}s"


def size(value: float | None) -> str:
    """812 B · 4.6 KB (1 KB = 1,024 bytes)"""
    if value is None:
        return NOTHING
    power = 0
    while abs(value) >= 1023.95 and power < len(SIZES) - 1:
        value, power = value / 1024, power + 1
    return _signed(f"{value:.1f}{SPACE}{SIZES[power]}" if power else f"{value:.0f}{SPACE}B")


def moment(value: datetime) -> str:
    """2026-11-20 12:00:59, in the time zone of the page."""
    return f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S}"


def exact_moment(value: datetime) -> str:
    """2026-11-20 12:00:59.191: only on the page of one call."""
    return f"{moment(value)}.{timezone.localtime(value).microsecond // 1000:03}"


def minute(value: datetime) -> str:
    return f"{timezone.localtime(value):%Y-%m-%d %H:%M}"


def clock(value: datetime, now: datetime) -> str:
    """14:02, or 2026-11-20 14:02 if that is not today."""
    local = timezone.localtime(value)
    return f"{local:%H:%M}" if local.date() == timezone.localtime(now).date() else minute(value)


def tick(value: datetime, step: timedelta) -> str:
    """14:02, or 22 Nov where the ticks are whole days."""
    local = timezone.localtime(value)
    return f"{local.day} {local:%b}" if step >= timedelta(days=1) else f"{local:%H:%M}"


def in_unit(value: float | None, unit: Unit | None, number: Callable[[float | None], str] = whole) -> str:
    """`number` formats a value that is neither a time nor a size."""
    match unit:
        case Unit.MILLISECONDS:
            return milliseconds(value)
        case Unit.BYTES:
            return size(value)
        case _:
            return number(value)


def plural(count: float, one: str, many: str = "") -> str:
    """1 call · 1,234 calls"""
    return f"{whole(count)} {one if count == 1 else many or one + 's'}"


def _two(first: int, unit: str, second: int, smaller: str) -> str:
    return f"{first}{SPACE}{unit}" + (f" {second}{SPACE}{smaller}" if second else "")


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.3g}"


def _signed(text: str) -> str:
    """The text with a real minus sign; −0 becomes 0."""
    text = text.replace("-", MINUS)
    return text if any(digit in "123456789" for digit in text) else text.removeprefix(MINUS)


def _with_plus(text: str) -> str:
    text = _signed(text)
    return text if text.startswith(MINUS) or not any(digit in "123456789" for digit in text) else f"+{text}"


IN_CHART_UNIT: Mapping[str, Callable[[float | None], str]] = {"count": whole, "share": share, "ms": milliseconds}
