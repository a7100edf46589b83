"""Lists that NSIP sends in pages of at most UPSTREAM_PAGE rows. A response does not contain its page number, so the
number in the request is used."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from context_protection.core.page_sizes import UNPAGED_ROWS
from context_protection.core.upstream_pages import SourcePage
from gateway.connectors.nsip.client import Nsip, NsipAnswer

UPSTREAM_PAGE = 100  # maximum rows per page


@dataclass(frozen=True, slots=True)
class AnimalPage:
    rows: Sequence[dict[str, Any]]
    total: int  # rows of all pages; 0 if upstream does not return it


Read = Callable[[int], Awaitable[NsipAnswer[AnimalPage]]]  # reads a page by its number, from 0


def search(api: Nsip, question: Mapping[str, Any]) -> Read:
    """Pages of upstream's rows, unchanged. `question`: the client's arguments, except for the page."""

    async def read(number: int) -> NsipAnswer[AnimalPage]:
        answer = await api.ask(api.methods.search_animals, number, UPSTREAM_PAGE, **question)
        return answer.with_value(AnimalPage(answer.value.results, answer.value.total_count))

    return read


def progeny(api: Nsip, lpn_id: str) -> Read:
    """Pages of rows as the client reads them."""

    async def read(number: int) -> NsipAnswer[AnimalPage]:
        answer = await api.ask(api.methods.get_progeny, lpn_id, number, UPSTREAM_PAGE)
        animals = [asdict(animal) for animal in answer.value.animals]
        return answer.with_value(AnimalPage(animals, answer.value.total_count))

    return read


@dataclass(frozen=True, slots=True)
class NsipPages:
    """The pages of a list. `first_page`: the number, from 0, of the page that the caller begins at; pages have the size
    of the answer's, or `page_size` if paging is off."""

    read: Read
    first_page: int | None = None
    page_size: int = UPSTREAM_PAGE

    async def page(self, token: Any, size: int) -> SourcePage:
        page_size = size if size < UNPAGED_ROWS else self.page_size
        first_row = (self.first_page or 0) * page_size if token is None else 0
        number = first_row // UPSTREAM_PAGE if token is None else token
        answer = await self.read(number)
        rows, total = answer.value.rows, answer.value.total
        return SourcePage(
            rows=rows[first_row % UPSTREAM_PAGE :],
            next=number + 1 if _has_next(number, len(rows), total) else None,
            total=total or None,
            certain=bool(total),
            as_of=answer.as_of,
            fresh_until=answer.fresh_until,
            note={**self._echo, **answer.note},
            before=min(first_row, total) if total or not rows else first_row,
        )

    @property
    def _echo(self) -> dict[str, int]:
        """The first page's number, for callers that request pages by number."""
        return {} if self.first_page is None else {"page": self.first_page}


def _has_next(number: int, count: int, total: int) -> bool:
    if not total:
        return count == UPSTREAM_PAGE
    return count > 0 and (number + 1) * UPSTREAM_PAGE < total
