"""From former keys to the newest one, a row at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps

from gateway.upstreams.secrets import CredentialLost, vault

SEALED = "sealed_secret"  # the field of whatever model holds a secret; `name` says whose it is


@dataclass(frozen=True, slots=True)
class Counts:
    """Of credentials: under the newest key before, under a former one before, and of which upstreams no key opens."""

    newest: int
    former: int
    lost: tuple[str, ...]


def counted() -> Counts:
    """Where credentials stand. Changes nothing."""
    return _total(_examined())


def rotated() -> Counts:
    """Seals anew what a former key has sealed. Stopped halfway, it has done whole rows."""
    return _total(_reseal(step) for step in _examined())


@dataclass(frozen=True, slots=True)
class Step:
    """A credential, and the same under the newest key; `resealed` None: it is so already, or is lost."""

    row: Any
    resealed: str | None = None
    is_lost: bool = False


def _examined() -> Iterator[Step]:
    for model in apps.get_models():
        if any(field.name == SEALED for field in model._meta.concrete_fields):
            yield from _examined_rows(model)


def _examined_rows(model: type[Any]) -> Iterator[Step]:
    for row in model._default_manager.exclude(sealed_secret="").order_by("pk"):
        try:
            yield Step(row, vault().resealed(row.sealed_secret, upstream=row.name))
        except CredentialLost:
            yield Step(row, is_lost=True)


def _reseal(step: Step) -> Step:
    """One statement, and so one transaction; a secret that ops have changed meanwhile is theirs. Neither history nor
    revision move: what is sent stays the same."""
    if step.resealed is not None:
        same = type(step.row)._default_manager.filter(pk=step.row.pk, sealed_secret=step.row.sealed_secret)
        same.update(sealed_secret=step.resealed)
    return step


def _total(steps: Iterator[Step]) -> Counts:
    newest, former, lost = 0, 0, []
    for step in steps:
        if step.is_lost:
            lost.append(step.row.name)
        elif step.resealed is None:
            newest += 1
        else:
            former += 1
    return Counts(newest, former, tuple(lost))
