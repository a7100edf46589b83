"""How names from a diff are written in a message."""

import re

from gateway.connectors.codebase.secrets import sanitized_name

_UNSHOWN = re.compile(r"[\x00-\x1f\x7f`\"\ud800-\udfff\u2028\u2029]")


def shown(name: str) -> str:
    """The name without secrets, and without characters that would break a line or a quotation, such as control
    characters, quotes, and bytes that are not UTF-8."""
    return sanitized_name(_UNSHOWN.sub("\ufffd", name))


def quoted(name: str) -> str:
    return f"`{shown(name)}`"


def listed(names: tuple[str, ...], most: int = 3) -> str:
    """The names in backticks: `a`, `b` and 3 more."""
    first, rest = [quoted(name) for name in names[:most]], len(names) - most
    if rest > 0:
        return f"{', '.join(first)} and {rest} more"
    return first[0] if len(first) == 1 else f"{', '.join(first[:-1])} and {first[-1]}"
