"""Seals stored secrets again with the newest key, row by row."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps

from gateway.upstreams.secrets import CredentialLost, vault

CREDENTIAL = "sealed_secret"  # the field of every model with a credential; `name` says whose it is
CONTENT = "SEALED_CONTENT"  # the attribute by which a model names its field with other sealed content
BATCH = 500  # rows read at once


@dataclass(frozen=True, slots=True)
class Counts:
    """Sealed values by state before the run: sealed with the newest key, with a former key, or lost because no key
    opens them. `lost` has the names of lost credentials, `lost_content` counts rows of other content."""

    newest: int
    former: int
    lost: tuple[str, ...]
    lost_content: int = 0


def counted() -> Counts:
    """Counts only; changes nothing."""
    return _total(_examined())


def rotated() -> Counts:
    """Seals with the newest key what a former key has sealed. Works row by row, so it can be stopped and run again."""
    return _total(_reseal(step) for step in _examined())


@dataclass(frozen=True, slots=True)
class Step:
    """A row's sealed value in `field`, and the value under the newest key. `resealed` None: already so, or lost."""

    model: type[Any]
    field: str
    pk: Any
    sealed: str
    resealed: str | None = None
    is_lost: bool = False


def _examined() -> Iterator[Step]:
    for model in apps.get_models():
        if any(field.name == CREDENTIAL for field in model._meta.concrete_fields):
            yield from _examined_rows(model, CREDENTIAL)
        if (content := getattr(model, CONTENT, None)) is not None:
            yield from _examined_rows(model, content)


def _examined_rows(model: type[Any], field: str) -> Iterator[Step]:
    for pk, sealed in _in_batches(model, field):
        try:
            yield Step(model, field, pk, sealed, vault().resealed(sealed, upstream=""))
        except CredentialLost:
            yield Step(model, field, pk, sealed, is_lost=True)


def _in_batches(model: type[Any], field: str) -> Iterator[tuple[Any, str]]:
    """Reads by primary key in batches, because an account has hundreds of thousands of rows."""
    rows = model._default_manager.exclude(**{field: ""}).order_by("pk").values_list("pk", field)
    batch = list(rows[:BATCH])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH])


def _reseal(step: Step) -> Step:
    """Updates the row in one statement, and only if it has not changed meanwhile. History and revision do not move,
    because what is sent or shown stays the same."""
    if step.resealed is not None:
        same = step.model._default_manager.filter(pk=step.pk, **{step.field: step.sealed})
        same.update(**{step.field: step.resealed})
    return step


def _total(steps: Iterable[Step]) -> Counts:
    newest, former, lost, lost_content = 0, 0, [], 0
    for step in steps:
        if step.is_lost and step.field == CREDENTIAL:
            lost.append(step.model._default_manager.get(pk=step.pk).name)
        elif step.is_lost:
            lost_content += 1
        elif step.resealed is None:
            newest += 1
        else:
            former += 1
    return Counts(newest, former, tuple(lost), lost_content)
