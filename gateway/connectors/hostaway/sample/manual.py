"""The house manual: a part for all houses, and a chapter for each of the twelve with sentences from the banks."""

from collections.abc import Sequence
from random import Random
from textwrap import fill
from typing import Any

from gateway.connectors.hostaway.sample import manual_homes as banks
from gateway.connectors.hostaway.sample.homes import HOMES, Home
from gateway.connectors.hostaway.sample.listings import listings
from gateway.connectors.hostaway.sample.manual_text import GENERAL

Row = dict[str, Any]

_SEED = 50_2026
_WIDTH = 110
_PECULIARITIES_EACH = 6
_TIPS_EACH = 3
_THINGS_EACH = 6


def house_manual() -> str:
    """About 50 KB of Markdown."""
    rng = Random(_SEED)
    peculiarities = rng.sample(banks.PECULIARITIES, len(banks.PECULIARITIES))
    chapters = [
        _chapter(rng, home, listing, _dealt(peculiarities, home, _PECULIARITIES_EACH))
        for home, listing in zip(HOMES, listings(), strict=True)
    ]
    return "\n".join([GENERAL, "# Part two: the houses\n", *chapters])


def _dealt(cards: Sequence[str], home: Home, each: int) -> Sequence[str]:
    return cards[home.position * each : (home.position + 1) * each]


def _chapter(rng: Random, home: Home, listing: Row, peculiarities: Sequence[str]) -> str:
    return f"""\
## {home.name} ({home.id})

- **Address:** {home.street}, {home.area}, {home.zipcode} {home.city}, {home.country}
- **Beds for:** {home.capacity} people, bedrooms: {home.bedrooms}, {home.square_meters} square metres
- **In charge of the house:** {banks.CLEANERS[home.position]}
- **Rubbish:** {banks.COLLECTIONS[home.position]}

### Finding the door

{banks.WAYS_TO_THE_DOOR[home.position]}

### Inside

{_first_paragraph(listing["airbnbSpace"])}

{_bullets(peculiarities)}

### Where things are

{_table_of_places(rng)}

### What we ask of you here

{_first_paragraph(listing["houseRules"])}

### Good to know

{_first_paragraph(listing["airbnbNotes"])}

{_bullets(_dealt(banks.TIPS, home, _TIPS_EACH))}
"""


def _first_paragraph(text: str) -> str:
    return fill(text.partition("\n\n")[0], width=_WIDTH)


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _table_of_places(rng: Random) -> str:
    things, places = rng.sample(banks.THINGS, _THINGS_EACH), rng.sample(banks.PLACES, _THINGS_EACH)
    rows = [f"| {thing} | {place} |" for thing, place in zip(things, places, strict=True)]
    return "\n".join(["| what | where |", "|---|---|", *rows])
