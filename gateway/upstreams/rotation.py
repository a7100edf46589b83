"""From former keys to the newest one, a row at a time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps

from gateway.upstreams.secrets import CredentialLost, vault

CREDENTIAL = "sealed_secret"  # the field of whatever model holds a credential; `name` says whose it is
CONTENT = "SEALED_CONTENT"  # of a model whose rows keep something else that is sealed: the name of that field
BATCH = 500  # rows that are read at once


@dataclass(frozen=True, slots=True)
class Counts:
    """Of what is sealed: under the newest key before, under a former one before, and what no key opens: of credentials
    whose they are, of content the number of rows."""

    newest: int
    former: int
    lost: tuple[str, ...]
    lost_content: int = 0


def counted() -> Counts:
    """Where all that is sealed stands. Changes nothing."""
    return _total(_examined())


def rotated() -> Counts:
    """Seals anew what a former key has sealed. Stopped halfway, it has done whole rows, and goes on with the rest."""
    return _total(_reseal(step) for step in _examined())


@dataclass(frozen=True, slots=True)
class Step:
    """What a row keeps in `field`, and the same under the newest key; `resealed` None: it is so already, or is lost."""

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
    """By primary key: an account has hundreds of thousands of rows, which are not read at once."""
    rows = model._default_manager.exclude(**{field: ""}).order_by("pk").values_list("pk", field)
    batch = list(rows[:BATCH])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH])


def _reseal(step: Step) -> Step:
    """One statement, and so one transaction; what was written meanwhile stays. Neither history nor revision move: what
    is sent or shown stays the same."""
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
