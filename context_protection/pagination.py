"""A paginator for Django REST framework that protects the lists of existing views through settings alone:

    REST_FRAMEWORK = {
        "DEFAULT_PAGINATION_CLASS": "context_protection.pagination.WalkPagination",
        "DEFAULT_RENDERER_CLASSES": ["context_protection.renderers.ProtectedJSONRenderer"],
    }

Views, their permissions, filters and serializers stay as they are. The snapshot stores the keys of the rows
that the view's queryset selected for the first page. The view serializes each page's objects itself, as with any
paginator.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import IntegerField, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from context_protection.core.errors import CallError
from context_protection.core.json_values import plain
from context_protection.core.payloads import BlockReader, Envelope, Opening, Page
from context_protection.core.rows import MemoryPage
from context_protection.core.shapes import ANY
from context_protection.orm.querysets import QuerySetRows
from context_protection.renderers import Written
from context_protection.requests import LIST_FORM, APICallError
from context_protection.values import protect_rows, protect_value


class WalkPagination(BasePagination):
    """Reads `limit`, `cursor`, `pages`, `fields` and `format` from the query. A snapshot is bound to all other
    parameters."""

    request: Request
    rows: "_ViewRows | None" = None
    envelope: Envelope | None = None

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """The page's objects, for the view to serialize; all objects if the rows cannot be found again by key."""
        self.request = request
        if not _can_be_paged_by_key(queryset):
            return list(queryset)
        rows = self.rows = _ViewRows(queryset, _everything(queryset, view))
        try:
            # Returns only for a snapshot that stores its rows itself; any other raises _PageChosen.
            self.envelope = _with_api_errors(lambda: protect_rows(request, rows))
        except _PageChosen as chosen:
            return rows.keep(chosen)
        return []

    def get_paginated_response(self, data: Any) -> Response:
        """Protects the page that the view serialized."""
        if self.envelope is not None:
            return Response(Written(self.envelope))
        written, rows = plain(data), self.rows
        if rows is None or not isinstance(written, list):
            return Response(Written(_with_api_errors(lambda: protect_value(self.request, written, any_cursor=True))))
        rows.fill(written)
        return Response(Written(_with_api_errors(lambda: protect_rows(self.request, rows))))

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["meta"],
            "properties": {"items": schema, "nextCursor": {"type": "string"}, "meta": {"type": "object"}},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        kinds = {"limit": "integer"}
        return [
            {"name": name, "in": "query", "required": False, "schema": {"type": kinds.get(name, "string")}}
            for name in LIST_FORM
        ]


def _with_api_errors(protect: Callable[[], Envelope]) -> Envelope:
    """Runs `protect`; converts a CallError into an exception that the framework handles."""
    try:
        return protect()
    except CallError as error:
        raise APICallError(error) from None


class _PageChosen(Exception):
    """Interrupts protection to return the page's objects to the view, which has to serialize them first."""

    def __init__(self, objects: list[Any], positions: Sequence[Any], more: bool) -> None:
        super().__init__()
        self.objects, self.positions, self.more = objects, positions, more


class _ViewRows(QuerySetRows):
    """Rows that the view serializes. The first run of `protect_rows` raises `_PageChosen`; the second finds the page
    that `fill` stored.

    Later pages look up their rows in `everything` (all rows that the view may show), whatever filters the request has.
    """

    def __init__(self, queryset: QuerySet[Any], everything: QuerySet[Any]) -> None:
        super().__init__(queryset, shape=ANY, order=_order(queryset))
        self._everything = everything
        self._opening: Opening | None = None
        self._chosen: _PageChosen | None = None
        self._filled: Page | None = None

    def keep(self, chosen: _PageChosen) -> list[Any]:
        self._chosen = chosen
        return chosen.objects

    def fill(self, written: list[Any]) -> None:
        assert self._chosen is not None
        documents = [each if isinstance(each, dict) else {"value": each} for each in written]
        positions = _fit_positions(self._chosen.positions, len(documents))
        self._filled = MemoryPage(documents, self.shape, positions, self._chosen.more)

    def open(self) -> Opening:
        if self._opening is None:
            self._opening = super().open()
        return self._opening

    def page(self, plan: Mapping[str, Any], block: BlockReader | None, position: Any, size: int) -> Page:
        return super().page(plan, block, position, size) if self._filled is None else self._filled

    def _manager(self) -> Any:
        return self._everything

    def _read(self, rows: QuerySet[Any], *extra: str) -> Iterable[tuple[Any, ...]]:
        return ((row.pk, row, *(getattr(row, name) for name in extra)) for row in rows)

    def _page(self, positions: Sequence[Any], rows: Sequence[tuple[Any, ...]], more: bool) -> Page:
        raise _PageChosen([row[1] for row in rows], positions, more)


def _fit_positions(positions: Sequence[Any], count: int) -> Sequence[Any]:
    """Fits the positions to `count` rows, if the view omitted or added rows. Prefers early positions: a row may then be
    repeated, but none is skipped."""
    more = count - len(positions)
    if not positions or not count or not more:
        return positions
    return [*[positions[0]] * more, *positions] if more > 0 else [*positions[: count - 1], positions[-1]]


def _can_be_paged_by_key(queryset: Any) -> bool:
    """Whether a snapshot can find the rows again by integer key. False for values(), slices, unions and other keys."""
    return (
        isinstance(queryset, QuerySet)
        and isinstance(queryset.model._meta.pk, IntegerField)
        and queryset._fields is None  # type: ignore[attr-defined]
        and not queryset.query.is_sliced
        and not queryset.query.combinator
    )


def _everything(queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
    """All rows that the view may show. If the view pages another queryset than its own (another model, or further
    annotations), only the rows of that queryset."""
    shown: QuerySet[Any] = view.get_queryset() if hasattr(view, "get_queryset") else queryset
    same = shown.model is queryset.model and queryset.query.annotations.keys() <= shown.query.annotations.keys()
    return shown if same else queryset


def _order(queryset: QuerySet[Any]) -> Sequence[Any]:
    """The view's own order, made unique by the key; without an order, the highest key first."""
    return (*(queryset.query.order_by or queryset.model._meta.ordering), "-pk")
