"""The answer of dbp_commit_message as a JSON Schema.

Source: the tool's data model, with `oldPath`, `suggestions` and the additions of the metadata.
"""

from gateway.connectors.codebase.commits.impact import ImpactSeverity
from gateway.connectors.codebase.commits.message import LENGTH_MAX, TITLE_MAX
from gateway.connectors.codebase.git.changes import ChangeKind
from gateway.connectors.codebase.schemas.query_response import METADATA, TEXT, TEXTS, record

_PART = {"type": "string", "maxLength": LENGTH_MAX}
_PATH = {"type": "string", "minLength": 1}
_MESSAGE = record({"title": {"type": "string", "minLength": 1, "maxLength": TITLE_MAX}, "body": _PART, "footer": _PART})
_IMPACT = record(
    {
        "severity": {"enum": [each.value for each in ImpactSeverity]},
        "affectedAreas": TEXTS,
        "suggestedReviewFocus": TEXTS,
    }
)
_FILE = record(
    {
        "path": _PATH,
        "changeType": {"enum": [each.value for each in ChangeKind]},
        "summary": TEXT,
        "oldPath": _PATH,
    },
    "oldPath",
)

COMMIT_MESSAGE_RESPONSE = record(
    {
        "commitMessage": _MESSAGE,
        "impactAnalysis": _IMPACT,
        "changedFiles": {"type": "array", "items": _FILE, "minItems": 1},
        "metadata": METADATA,
        "suggestions": TEXTS,
    },
    "impactAnalysis",
)
