"""The only module that removes secrets from fetched data, before it is paged, stored, queried or counted.

Data in our own database was redacted when it was written; operations on it have `is_redacted` set. Fields that the
policy withholds are removed from that data when it is read.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import Payload, Record
from context_protection.core.redaction import Visibility, redact, redact_text
from context_protection.core.rows import MemoryRows
from context_protection.core.shapes import Shape
from context_protection.core.upstream_pages import PagedRows, PageSource, SourcePage
from context_protection.core.withheld_fields import seen, shape_as_seen
from context_protection.orm.querysets import ColumnRows
from gateway.dispatch import light_work
from gateway.threads.bridge import run_sync


def redacted(payload: Payload, visibility: Visibility, operation: str = "") -> Payload:
    """The payload without its secrets, and without the fields that the policy withholds. A list in memory is redacted
    when it is read, an upstream's paged list page by page. Redacting a payload twice changes nothing. `operation`: as
    in RedactedPages."""
    match payload:
        case Record():
            (value,) = seen([payload.value], payload.shape, visibility)
            if value is payload.value and not visibility.withheld:
                return payload
            return replace(payload, value=value, shape=shape_as_seen(payload.shape, visibility))
        case MemoryRows() | ColumnRows():
            return payload.seen_by(visibility)
        case PagedRows(source=RedactedPages()):
            return payload
        case PagedRows():
            pages = RedactedPages(payload.source, payload.shape, visibility, operation)
            return PagedRows(pages, shape_as_seen(payload.shape, visibility), payload.options, visibility)
        case MemoryText():
            text, kinds = redact_text(payload.content)
            return replace(payload, content=text) if kinds else payload
        case _:
            return payload


@dataclass(frozen=True)
class RedactedPages:
    """A `PageSource` that redacts each page. `shape`: of the rows, unless a page has its own. `operation`: the name
    under which small pages are timed, to redact them on the event loop if they are quick; empty: a thread redacts every
    page."""

    source: PageSource
    shape: Shape
    visibility: Visibility
    operation: str = ""

    async def page(self, token: Any, size: int) -> SourcePage:
        page = await self.source.page(token, size)
        work = partial(self._redacted, page)
        if self.operation and light_work.is_small(page.size):
            return await light_work.run(f"pages of {self.operation}", page.size, work, run_sync)
        return await run_sync(work)

    def _redacted(self, page: SourcePage) -> SourcePage:
        rows = seen(list(page.rows), page.shape or self.shape, self.visibility)
        beside, _ = redact(dict(page.beside), self.visibility)
        shape = page.shape and shape_as_seen(page.shape, self.visibility)
        return replace(page, rows=rows, beside=beside, shape=shape)
