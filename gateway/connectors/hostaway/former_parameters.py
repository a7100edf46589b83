"""Parameters of Hostaway's own lists that older clients still send. They are accepted without effect, and the answer
says so."""

from collections.abc import Mapping
from typing import Any

# The parameter, and what to do instead.
INSTEAD = {
    "offset": "follow nextCursor, or set pages=2-2 for the second page",
    "includeResources": "set fields=all for whole rows",
    "sortOrder": "set order, for example order=-insertedOn",
}
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    name: {"type": "string", "maxLength": 200, "description": f"Has no effect: {instead}."}
    for name, instead in INSTEAD.items()
}


def notes(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines for `meta.notes` about the parameters in `arguments` that have no effect."""
    return tuple(f"{name} has no effect: {instead}." for name, instead in INSTEAD.items() if name in arguments)
