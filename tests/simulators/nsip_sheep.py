"""The invented sheep of `nsip_simulator`: every one is made from its breed and number, always the same."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

TRAITS = (
    "bwt", "wwt", "pwwt", "ywt", "mwwt", "nlb", "nlw", "pemd",
    "pfat", "yemd", "yfat", "wfec", "pfec", "yfd", "ygfw", "ysl",
)  # fmt: skip
STATUSES = ["CURRENT", "SOLD", "DEAD", "COMMERCIAL", "CULL", "EXPORTED"]
GROUPS = {61: ("Range", (486, 610)), 64: ("Hair", (640, 641)), 69: ("Terminal", ())}
BREEDS = {
    640: ("Katahdin", 145_595),
    641: ("St. Croix", 250),
    486: ("South African Meat Merino", 86),
    610: ("Targhee", 0),
}


class Unknown(Exception):
    """404."""


@dataclass(frozen=True)
class Sheep:
    breed: int
    number: int

    @property
    def born(self) -> tuple[int, int, int]:
        return 2015 + self.number % 10, 1 + self.number % 12, 1 + self.number % 28

    @property
    def lpn(self) -> str:
        """As long as upstream's are: breed, flock, year, and six of which the last three are digits."""
        thousands = self.number // 1000
        letters = f"F{chr(65 + thousands // 26)}{chr(65 + thousands % 26)}"
        return f"{self.breed}149{self.born[0]}{letters}{self.number % 1000:03}"

    @property
    def gender(self) -> str:
        return ("Female", "Male")[self.number % 2]

    @property
    def status(self) -> str:
        return STATUSES[self.number % len(STATUSES)]

    @property
    def flock(self) -> str:
        return f"{self.breed}{149 + self.number % 40}"

    def value(self, trait: str) -> float:
        return ((self.number * 7919 + TRAITS.index(trait) * 1543) % 8001 - 2000) / 1000

    def accuracy(self, trait: str) -> float:
        return ((self.number * 31 + TRAITS.index(trait) * 17) % 91) / 100

    def parent(self, side: int) -> "Sheep":
        return Sheep(self.breed, (self.number * 3 + 100 + side) % max(BREEDS[self.breed][1], 1))

    @classmethod
    def of(cls, lpn: str) -> "Sheep":
        try:
            thousands = (ord(lpn[-5]) - 65) * 26 + ord(lpn[-4]) - 65
            sheep = cls(int(lpn[:3]), 1000 * thousands + int(lpn[-3:]))
        except (ValueError, IndexError):
            raise Unknown from None
        if sheep.breed not in BREEDS or not 0 <= sheep.number < BREEDS[sheep.breed][1] or sheep.lpn != lpn:
            raise Unknown
        return sheep


def date_text(born: tuple[int, int, int]) -> str:
    year, month, day = born
    return f"{month}/{day}/{year}"


@cache
def found(breed: str | None, body: str, trait: str | None, reverse: str | None) -> list[tuple[int, int]]:
    """Breed and number of all that match, in order."""
    wanted = json.loads(body)
    breeds = [int(breed)] if breed else [wanted["breedId"]] if "breedId" in wanted else list(BREEDS)
    if "breedGroupId" in wanted:
        breeds = [each for each in breeds if each in GROUPS.get(wanted["breedGroupId"], ("", ()))[1]]
    found = [(each, number) for each in breeds if each in BREEDS for number in range(BREEDS[each][1])]
    if narrowed := set(wanted) - {"breedId", "breedGroupId"}:
        found = [each for each in found if _matches(Sheep(*each), wanted, narrowed)]
    if trait:
        found.sort(key=lambda each: Sheep(*each).value(trait.lower()), reverse=str(reverse).lower() == "true")
    return found


def _matches(sheep: Sheep, wanted: Mapping[str, Any], names: set[str]) -> bool:
    born = "{:04}-{:02}-{:02}".format(*sheep.born)
    tests: dict[str, Callable[[Any], bool]] = {
        "gender": lambda value: value in (sheep.gender, "Both"),
        "status": lambda value: value == sheep.status,
        "flockId": lambda value: value == sheep.flock,
        "bornAfter": lambda value: born > value,
        "bornBefore": lambda value: born < value,
        "provenOnly": lambda value: not value or sheep.number % 5 == 0,
        "traitRanges": lambda value: all(
            bounds.get("min", -99) <= sheep.value(trait.lower()) <= bounds.get("max", 99)
            for trait, bounds in value.items()
        ),
    }
    return all(tests[name](wanted[name]) for name in names)
