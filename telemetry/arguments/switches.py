"""The tools whose arguments are stored for successful calls too. The hot path reads a set in memory."""

from django.db import DatabaseError

from telemetry.models import KeptTool

_kept: frozenset[str] = frozenset()


def are_kept(operation: str) -> bool:
    """Whether ops have chosen this tool, or all tools. Does not block."""
    return bool(_kept) and (operation in _kept or ALL in _kept)


ALL = KeptTool.ALL


def refresh() -> None:
    """Reads the switches, every few seconds and off the hot path. They stay unchanged while the database is down."""
    global _kept
    try:
        _kept = frozenset(KeptTool.objects.values_list("operation", flat=True))
    except DatabaseError:
        return
