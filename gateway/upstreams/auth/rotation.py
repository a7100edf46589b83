"""Rotates the key of stored secrets: encrypts ("seals") them with the newest key, row by row."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps

from gateway.upstreams.auth.vault import CredentialLost, vault

CREDENTIAL_FIELD = "sealed_secret"  # the field that holds a model's credential; the row's `name` identifies it
CONTENT_ATTRIBUTE = "SEALED_CONTENT"  # the model attribute that names a field with other sealed content
BATCH = 500  # rows per query


@dataclass(frozen=True, slots=True)
class SealedValueCounts:
    """Numbers of sealed values before the run, by the key that opens them: the newest, a former one, or none. If none
    does, the value is lost. `lost`: the names of lost credentials; `lost_content`: the number of other lost values."""

    newest: int
    former: int
    lost: tuple[str, ...]
    lost_content: int = 0


def count_by_key() -> SealedValueCounts:
    """Counts sealed values by their key, without changing any."""
    return _total(_examined())


def rotate() -> SealedValueCounts:
    """Seals all values of former keys with the newest key. Works row by row, so it can be stopped and run again."""
    return _total(_reseal(step) for step in _examined())


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A row's sealed value in `field`. `resealed`: the value sealed with the newest key; None if it already was, or is
    lost."""

    model: type[Any]
    field: str
    pk: Any
    sealed: str
    resealed: str | None = None
    is_lost: bool = False


def _examined() -> Iterator[SealedValue]:
    for model in apps.get_models():
        if any(field.name == CREDENTIAL_FIELD for field in model._meta.concrete_fields):
            yield from _examined_rows(model, CREDENTIAL_FIELD)
        if (content := getattr(model, CONTENT_ATTRIBUTE, None)) is not None:
            yield from _examined_rows(model, content)


def _examined_rows(model: type[Any], field: str) -> Iterator[SealedValue]:
    for pk, sealed in _in_batches(model, field):
        try:
            yield SealedValue(model, field, pk, sealed, vault().resealed(sealed, upstream=""))
        except CredentialLost:
            yield SealedValue(model, field, pk, sealed, is_lost=True)


def _in_batches(model: type[Any], field: str) -> Iterator[tuple[Any, str]]:
    """Reads by primary key in batches, because an account may have hundreds of thousands of rows."""
    rows = model._default_manager.exclude(**{field: ""}).order_by("pk").values_list("pk", field)
    batch = list(rows[:BATCH])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH])


def _reseal(step: SealedValue) -> SealedValue:
    """Updates the row in one statement, and only if it has not changed meanwhile. Adds no history entry and no
    revision, because the secret itself stays the same."""
    if step.resealed is not None:
        same = step.model._default_manager.filter(pk=step.pk, **{step.field: step.sealed})
        same.update(**{step.field: step.resealed})
    return step


def _total(steps: Iterable[SealedValue]) -> SealedValueCounts:
    newest, former, lost, lost_content = 0, 0, [], 0
    for step in steps:
        if step.is_lost and step.field == CREDENTIAL_FIELD:
            lost.append(step.model._default_manager.get(pk=step.pk).name)
        elif step.is_lost:
            lost_content += 1
        elif step.resealed is None:
            newest += 1
        else:
            former += 1
    return SealedValueCounts(newest, former, tuple(lost), lost_content)
