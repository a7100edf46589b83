"""JSON Schemas of dbp_general_query's answer, and of the parts that the answers of both codebase tools have.

Source: the tools' data model, with `answer`, `isPartialResult`, `incomplete`, `budget` and `cost` added.
"""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
DOLLARS: Schema = {"type": "number", "minimum": 0}
TEXTS: Schema = {"type": "array", "items": TEXT}


def record(properties: Mapping[str, Schema], *optional: str) -> Schema:
    """An object with these properties and no others. All but `optional` are required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


PROGRESS = record(
    {
        "status": {"enum": ["NotStarted", "InProgress", "Complete", "Error"]},
        "processedFiles": COUNT,
        "totalFiles": COUNT,
        "percentComplete": {"type": "integer", "minimum": 0, "maximum": 100},
        "currentActivity": TEXT,
        "estimatedCompletionTimeMs": COUNT,
    }
)
_STEP = record(
    {"name": TEXT, "executionTimeMs": COUNT, "cost": DOLLARS, "isPartialResult": FLAG, "budgetExceeded": FLAG}
)
METADATA = record(
    {
        "executionTimeMs": COUNT,
        "modelsUsed": TEXTS,
        "filesProcessed": COUNT,
        "tools": {"type": "array", "items": _STEP},
        "totalCost": DOLLARS,
        "isPartialResult": FLAG,
        "budgetExceeded": FLAG,
        "incomplete": TEXTS,
        "budget": record({"limit": DOLLARS, "used": DOLLARS, "exceeded": FLAG}),
        "backgroundTaskProgress": PROGRESS,
    }
)

_LINE: Schema = {"type": "integer", "minimum": 1}
_PLACE: Mapping[str, Schema] = {"path": TEXT, "startLine": _LINE, "endLine": _LINE}
_MATCH = record(
    {**_PLACE, "score": {"type": "number", "minimum": 0, "maximum": 1}, "excerpt": TEXT, "name": TEXT, "kind": TEXT},
    "name",
    "kind",
)
_CHANGED_FILE = record(
    {"path": TEXT, "changeType": TEXT, "oldPath": TEXT, "addedLines": COUNT, "removedLines": COUNT},
    "oldPath",
    "addedLines",
    "removedLines",
)
_ROWS: Mapping[str, Schema] = {
    "matches": _MATCH,
    "files": record({"path": TEXT}),
    "symbols": record({**_PLACE, "name": TEXT, "kind": TEXT}),
    "commits": record({"commit": TEXT, "time": TEXT, "subject": TEXT, "changedFiles": COUNT}),
    "changedFiles": _CHANGED_FILE,
}


def _results(found: Mapping[str, Schema]) -> Schema:
    """`answer`: a language model's answer, shown above what was found."""
    return record({"answer": TEXT, **found, "hasMore": FLAG}, "answer", "hasMore")


_RESULTS: Schema = {
    "anyOf": [
        _results({"text": TEXT}),
        *(_results({name: {"type": "array", "items": row}}) for name, row in _ROWS.items()),
    ]
}

GENERAL_QUERY_RESPONSE = record({"results": _RESULTS, "metadata": METADATA, "suggestions": TEXTS})
