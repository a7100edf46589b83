"""Shapes of NSIP's objects: their previews and sections.

Previews use the names of the gateway's specification (LpnId), whole records the client's (lpn_id), and search rows
upstream's (lpnId). Contact data is not redacted, as the program publishes it for buyers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from context_protection.core.fields import Field
from context_protection.core.shapes import Section, Shape
from gateway.connectors.nsip import lineage, traits

_READ_BY_CLIENT = {"farmName", "FarmName", "customerName", "ContactName", "phone", "Phone", "email", "Email",
                   "address", "Address", "city", "City", "state", "State", "zipCode", "ZipCode"}  # fmt: skip


def contact(raw: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The whole contact: fields that the client reads have its names, others (flockCode) have upstream's."""
    from nsip_client.models import AnimalDetails

    if raw is None:
        return None
    found = AnimalDetails.from_api_response(dict(raw)).contact_info
    return None if found is None else {**asdict(found), **_not_read(raw)}


def _not_read(raw: Mapping[str, Any]) -> dict[str, Any]:
    holder = raw["data"] if isinstance(raw.get("data"), dict) else raw
    info = holder.get("contactInfo", holder.get("ContactInfo")) or {}
    return {name: value for name, value in info.items() if name not in _READ_BY_CLIENT}


def _top(found: Mapping[str, traits.Trait] | None) -> list[traits.Trait]:
    return traits.top((found or {}).values())


def _animal(below: str = "") -> tuple[Field, ...]:
    return (
        Field("LpnId", f"{below}lpn_id"),
        Field("Sire", f"{below}sire"),
        Field("Dam", f"{below}dam"),
        Field("Breed", f"{below}breed"),
        Field("TotalProgeny", f"{below}total_progeny"),
        Field("Contact", f"{below}raw_data", contact, is_kept=True),
        Field("TopTraits", f"{below}traits", _top),
    )


TARGET_REDUCTION = 0.7  # the share of tokens that a summary should save (SC-002)

ANIMAL = Shape(
    name="animal",
    target_reduction=TARGET_REDUCTION,
    identity="lpn_id",
    preview=_animal(),
    sections=(
        Section("traits", ("traits",)),
        Section("contact", ("contact_info",)),
        Section("raw", ("raw_data",)),
        Section("identity", ("*",)),
    ),
)

LINEAGE = Shape(
    name="lineage",
    target_reduction=TARGET_REDUCTION,
    preview=(
        Field("Subject", "subject"),
        Field("Sire", "sire"),
        Field("Dam", "dam"),
        Field("Generations", "generations", lineage.generation_sizes),
    ),
    sections=(
        Section("parents", ("subject", "sire", "dam")),
        Section("generations", ("generations",)),
        Section("raw", ("raw_data",)),
    ),
)


def _listed(progeny: Mapping[str, Any]) -> dict[str, int]:
    return {"total": progeny["total_count"], "listed": len(progeny["animals"])}


PROFILE = Shape(
    name="profile",
    target_reduction=TARGET_REDUCTION,
    preview=(
        *_animal("details."),
        Field("Generations", "lineage.generations", lineage.generation_sizes),
        Field("Progeny", "progeny", _listed),
    ),
    sections=tuple(Section(name, (name,)) for name in ("details", "lineage", "progeny")),
)

SMALL = Shape(name="answer")  # needs no preview


@dataclass(frozen=True)
class _Either(Field):
    """A field that upstream has renamed."""

    formerly: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        return self.source, self.formerly

    def read(self, record: Mapping[str, Any]) -> Any:
        return record.get(self.source, record.get(self.formerly))


@dataclass(frozen=True)
class _OfRow(Field):
    """A field that is computed from several fields of a row."""

    make: Callable[[Mapping[str, Any]], Any] = dict

    @property
    def sources(self) -> tuple[str, ...]:
        return ()

    def read(self, record: Mapping[str, Any]) -> Any:
        return self.make(record)


def _in_short(row: Mapping[str, Any]) -> str:
    """ "NLW 0.12@84 YSL 6.0@81": the best traits, with their values unchanged and their accuracies in percent."""
    best = traits.top(traits.traits_of(row).values())
    return " ".join(f"{trait['name']} {trait['value']}@{trait['accuracy']}" for trait in best)


FOUND_ANIMAL = Shape(
    name="animal",
    identity="lpnId",
    row=(
        _Either("LpnId", "lpnId", formerly="LpnId"),
        _Either("Sire", "lpnSre", formerly="Sire"),
        _Either("Dam", "lpnDam", formerly="Dam"),
        _OfRow("TopTraits", "lpnId", make=_in_short),
    ),
    others=(  # not in rows: a condensed page would then not be 70 % smaller than upstream's (N-SC-002)
        _Either("Gender", "gender", formerly="Gender"),
        _Either("Status", "status", formerly="Status"),
        _Either("DateOfBirth", "dateOfBirth", formerly="DateOfBirth"),
    ),
)


OFFSPRING = Shape(
    name="offspring",
    identity="lpn_id",
    row=(Field("LpnId", "lpn_id"), Field("Sex", "sex"), Field("DateOfBirth", "date_of_birth")),
)


def names(fields: Iterable[Field]) -> tuple[str, ...]:
    return tuple(each.name for each in fields)
