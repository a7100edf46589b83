"""The sample account as its upstream has it: what the right answers are made of, and what raw paging would cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from context_protection.core import tokens
from context_protection.core.cached_property import cached_property
from gateway.connectors.hostaway import sample

PAGE = 50
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Account:
    bookings: Rows
    listings: Rows
    transactions: Rows
    texts: dict[str, str]

    @classmethod
    @cache
    def of_sample(cls) -> "Account":
        """The same object for all tests, which only read it: to invent it takes half a second."""
        return cls(
            bookings=_plain(sample.reservations(500)),
            listings=_plain(sample.listings()),
            transactions=_plain(sample.transactions()),
            texts={document.name: document.content for document in sample.documents()},
        )

    @cached_property
    def costs(self) -> dict[str, int]:
        """Claude's tokens of reading each of them whole: lists in raw pages of compact JSON, texts as they are."""
        lists = {name: _raw_pages(getattr(self, name)) for name in ("bookings", "listings", "transactions")}
        return lists | {name: tokens.claude.count(text) for name, text in self.texts.items()}


def _plain(rows: Any) -> Rows:
    plain: Rows = orjson.loads(orjson.dumps(list(rows)))
    return plain


def _raw_pages(rows: Sequence[Any]) -> int:
    pages = (orjson.dumps(rows[start : start + PAGE]).decode() for start in range(0, len(rows), PAGE))
    return sum(map(tokens.claude.count, pages))
