"""The only module that removes secrets from fetched data, before it is paged, stored, queried or counted.

Data in our own database was redacted when it was written; such operations have `is_redacted` set.
"""

from dataclasses import dataclass, replace
from typing import Any

from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import Payload, Record
from context_protection.core.redaction import redact, redact_text
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.upstream_pages import PagedRows, PageSource, SourcePage
from gateway.threads.bridge import run_sync

Reveal = frozenset[str]  # names of secret fields that a caller may see


def redacted(payload: Payload, reveal: Reveal) -> Payload:
    """The payload without its secrets. A list in memory is redacted when it is read, an upstream's paged list page by
    page. Redacting a payload twice changes nothing."""
    match payload:
        case Record():
            value, found = redact(payload.value, reveal)
            return replace(payload, value=value) if found else payload
        case MemoryRows():
            return payload.changed(lambda loaded: _loaded(loaded, reveal), reveal)
        case PagedRows(source=RedactedPages()):
            return payload
        case PagedRows():
            return PagedRows(RedactedPages(payload.source, reveal), payload.shape, payload.options, reveal)
        case MemoryText():
            text, kinds = redact_text(payload.content)
            return replace(payload, content=text) if kinds else payload
        case _:
            return payload


@dataclass(frozen=True)
class RedactedPages:
    """A `PageSource` that redacts each page."""

    source: PageSource
    reveal: Reveal

    async def page(self, token: Any, size: int) -> SourcePage:
        page = await self.source.page(token, size)
        return await run_sync(_page, page, self.reveal)


def _page(page: SourcePage, reveal: Reveal) -> SourcePage:
    rows, _ = redact(list(page.rows), reveal)
    beside, _ = redact(dict(page.beside), reveal)
    return replace(page, rows=rows, beside=beside)


def _loaded(loaded: Loaded, reveal: Reveal) -> Loaded:
    rows, _ = redact(list(loaded.rows), reveal)
    beside, _ = redact(dict(loaded.beside), reveal)
    return replace(loaded, rows=rows, beside=beside)
