"""The texts of the account: a log, a house manual, a guide and a checklist."""

from dataclasses import dataclass

from gateway.connectors.hostaway.sample.guides import CHECK_IN_GUIDE, CLEANING_CHECKLIST
from gateway.connectors.hostaway.sample.manual import house_manual
from gateway.connectors.hostaway.sample.synclog import sync_log


@dataclass(frozen=True, slots=True)
class SampleDocument:
    name: str
    title: str
    media_type: str
    content: str


def documents() -> list[SampleDocument]:
    """The four documents, the largest first."""
    return [
        SampleDocument("sync-2026-11.log", "Synchronisation log, November 2026", "text/plain", sync_log()),
        SampleDocument("house-manual.md", "House manual", "text/markdown", house_manual()),
        SampleDocument("cleaning-checklist.txt", "Cleaning checklist", "text/plain", CLEANING_CHECKLIST),
        SampleDocument("check-in-guide.md", "Check-in guide", "text/markdown", CHECK_IN_GUIDE),
    ]
