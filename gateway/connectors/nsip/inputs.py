"""Arguments of the NSIP operations: their schemas, and the checks that a schema does not express well. Invalid
arguments are rejected before upstream is called (N-FR-003)."""

from collections.abc import Mapping
from typing import Any

from context_protection.core.errors import InvalidArgument
from gateway.connectors.nsip import criteria
from gateway.connectors.nsip.traits import TRAITS

Schema = Mapping[str, Any]
Arguments = Mapping[str, Any]

SHORTEST_LPN = 5
LPN_EXAMPLE = "6401492020FLE249"
MAX_PER_PAGE = 100
SEARCH_PAGE, PROGENY_PAGE = 15, 10  # rows by default, as in the client

SUMMARIZE: Schema = {
    "type": "boolean",
    "default": True,
    "description": "false: the whole record, in parts if large.",
}
PLAIN = frozenset(
    {
        *("page", "page_size", "summarize", "breed_id", "lpn_id", "search_string"),
        *("sorted_trait", "reverse", "search_criteria"),
    }
)
BREED_ID: Schema = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "From nsip_list_breeds."}
PAGE: Schema = {
    "type": "integer",
    "minimum": 0,
    "maximum": 1_000_000,
    "description": "Page to begin at, from 0; cursor continues from there.",
}


def lpn_schema(what: str) -> Schema:
    return {"type": "string", "maxLength": 64, "description": f"{what}, at least {SHORTEST_LPN} characters."}


def page_size_schema(default: int) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": MAX_PER_PAGE, "default": default, "description": "As limit."}


PROGENY: Mapping[str, Schema] = {
    "lpn_id": lpn_schema("LPN of a parent"),
    "page": PAGE,
    "page_size": page_size_schema(PROGENY_PAGE),
}
SEARCH: Mapping[str, Schema] = {
    "page": PAGE,
    "page_size": page_size_schema(SEARCH_PAGE),
    "breed_id": BREED_ID,
    "sorted_trait": {
        "type": "string",
        "enum": [*TRAITS],
        "description": "Trait to sort by.",
    },
    "reverse": {"type": "boolean", "description": "true: from high to low."},
    "search_criteria": {
        "type": "object",
        "description": "Filters.",
        "properties": criteria.PROPERTIES,
        "examples": [{"bornAfter": "2024-01-31", "traitRanges": {"BWT": {"max": 1}}}],
    },
}


def find_lpn(name: str) -> str:
    return f"Find the {name} with nsip_search_animals; an example is {LPN_EXAMPLE}."


# Other names of arguments, and where their values come from.
ALIASES = dict.fromkeys(("lpn", "lpnid", "id", "animalid", "registrationnumber"), ("search_string", "lpn_id"))
SOURCES = {
    "search_string": find_lpn("search_string"),
    "lpn_id": find_lpn("lpn_id"),
    "breed_id": "Find the breed_id with nsip_list_breeds.",
}


def form(given: Arguments, *, page_size: int) -> dict[str, Any]:
    """Converts the client's own arguments (`page`, `page_size`, `summarize`) to those for the form of the answer
    (`pages`, `limit`, `fields`). A page requested by its number may use the hard cap, so that it contains all of its
    rows. Its size does not depend on what ops have set, since the next number would then skip rows. `page_size`: the
    default."""
    limit = {"limit": given.get("page_size", page_size)} if {"page", "page_size"} & given.keys() else {}
    page = {"pages": "1"} if "page" in given else {}
    return {**page, **limit, **({"fields": "all"} if given.get("summarize") is False else {})}


def lpn(arguments: Arguments, name: str) -> str:
    """The LPN or registration number in the argument `name`. Raises InvalidArgument."""
    value: str = arguments[name].strip()
    if len(value) >= SHORTEST_LPN and value.isprintable():
        return value
    raise InvalidArgument(
        f"{name} is {'empty' if not value else 'too short' if value.isprintable() else 'not printable'}.",
        reason=f"invalid_{name}",
        parameter=name,
        value=arguments[name],
        expected=f"a printable text of at least {SHORTEST_LPN} characters",
        suggestion=find_lpn(name),
    )


def search_question(arguments: Arguments) -> dict[str, Any]:
    """The arguments of the client's search_animals, except for the page. Raises InvalidArgument."""
    question = {name: arguments[name] for name in ("breed_id", "reverse") if name in arguments}
    if "sorted_trait" in arguments:
        question["sorted_trait"] = arguments["sorted_trait"]
    if wanted := criteria.checked(arguments.get("search_criteria", {})):
        question["search_criteria"] = wanted
    return question
