"""A stored document as a text that is read piece by piece."""

from dataclasses import dataclass

from django.db.models.functions import Substr

from gateway.connectors.hostaway.models import Document, DocumentContent


@dataclass(frozen=True)
class StoredText:
    name: str
    media_type: str
    version: str

    @classmethod
    def of(cls, document: Document) -> "StoredText":
        return cls(name=document.id, media_type=document.media_type, version=document.content_id)

    def whole(self) -> str:
        return DocumentContent.objects.values_list("text", flat=True).get(digest=self.version)

    def read(self, version: str, start: int, end: int) -> str | None:
        """Characters `start` to `end`; the database cuts them out."""
        piece = Substr("text", start + 1, end - start)
        return DocumentContent.objects.filter(digest=version).values_list(piece, flat=True).first()
