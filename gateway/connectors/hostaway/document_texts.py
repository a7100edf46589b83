"""A stored document: a text that is read piece by piece, or the metadata of a file that is not text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from context_protection.core.payloads import Piece
from context_protection.core.splitting.plans import ChunkSizes, IndexingProgress
from gateway.connectors.hostaway import pieces, stored_plans
from gateway.connectors.hostaway.models import Document, DocumentContent
from gateway.connectors.hostaway.stored_plans import StoredTextPlan


@dataclass(frozen=True)
class DocumentText:
    name: str
    media_type: str
    version: str
    chars: int
    lines: int
    encoding: str
    facts: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, document: Document) -> "DocumentText":
        content = document.content
        return cls(
            name=document.id,
            media_type=document.media_type,
            version=content.digest if content else "",
            chars=content.chars if content else 0,
            lines=max(1, content.lines) if content else 1,
            encoding=document.encoding or "",
            facts=None if content else _facts(document),
        )

    def at(self, version: str) -> "DocumentText | None":
        if version == self.version:
            return self
        content = DocumentContent.objects.filter(digest=version, is_loaded=True).first()
        if content is None:
            return None
        encoding = self.encoding or "utf-8"
        lines = max(1, content.lines)
        return replace(self, version=version, chars=content.chars, lines=lines, encoding=encoding, facts=None)

    def read(self, version: str, start: int, end: int) -> str | None:
        return pieces.read(version, start, end)

    def line_start(self, version: str, line: int) -> int:
        return pieces.line_start(version, line)

    def pieces(self, version: str, first_line: int = 1) -> Iterator[Piece]:
        return pieces.in_whole_lines(version, first_line)

    def plan(self, version: str, chunk_sizes: ChunkSizes) -> StoredTextPlan | IndexingProgress:
        return stored_plans.find(version, chunk_sizes)


def _facts(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "mediaType": document.media_type,
        "bytes": document.bytes,
        "sha256": document.sha256,
        "binary": True,
    }
