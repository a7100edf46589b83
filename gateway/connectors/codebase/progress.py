"""The progress of a project's index."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class IndexStatus(StrEnum):
    """The values appear in answers."""

    NOT_STARTED = "NotStarted"
    IN_PROGRESS = "InProgress"
    COMPLETE = "Complete"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class Progress:
    """`percent`: 0 to 100, and 100 only if the index is complete; it never decreases within a run. `activity`: what is
    being done, or why it failed. `remaining`: estimated seconds until it is complete; 0 if unknown."""

    status: IndexStatus = IndexStatus.NOT_STARTED
    processed_files: int = 0
    total_files: int = 0
    percent: int = 0
    activity: str = "Indexing has not begun yet."
    remaining: float = 0.0

    @property
    def is_complete(self) -> bool:
        return self.status is IndexStatus.COMPLETE

    def as_document(self) -> dict[str, Any]:
        """`backgroundTaskProgress` of the tools' data model."""
        return {
            "status": self.status.value,
            "processedFiles": self.processed_files,
            "totalFiles": self.total_files,
            "percentComplete": self.percent,
            "currentActivity": self.activity,
            "estimatedCompletionTimeMs": round(self.remaining * 1000),
        }
