"""The nine methods of NSIP's client as operations (N-FR-010)."""

from collections.abc import Awaitable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from context_protection.configuration.policies import policy_in_call
from context_protection.core.errors import NotFound
from context_protection.core.payloads import Payload, Record
from context_protection.core.policy import Kind
from context_protection.core.shapes import Shape
from context_protection.core.upstream_pages import PagedRows
from gateway.catalog.caller import Caller
from gateway.catalog.operation import FetchAsync, Fetched, Operation, as_fresh_as_its_answer
from gateway.connectors.nsip import criteria, inputs, lineage, ranges, shapes, sources, traits
from gateway.connectors.nsip.client import Nsip, NsipAnswer
from gateway.upstreams.errors import UpstreamError

if TYPE_CHECKING:
    from nsip_client.models import AnimalDetails

Arguments = Mapping[str, Any]
T = TypeVar("T")

# The operation that calls each client method: ops staff set the cache time per operation.
OPERATIONS = {
    "get_date_last_updated": "nsip_get_last_update",
    "get_available_breed_groups": "nsip_list_breeds",
    "get_statuses_by_breed_group": "nsip_get_statuses",
    "get_trait_ranges_by_breed": "nsip_get_trait_ranges",
    "search_animals": "nsip_search_animals",
    "get_animal_details": "nsip_get_animal",
    "get_lineage": "nsip_get_lineage",
    "get_progeny": "nsip_get_progeny",
}
THRESHOLD = 2000  # tokens, above which a record is summarised (N-FR-005)
CACHE_SECONDS = 3600  # default cache time of an answer (N-FR-009)


def cache_seconds(method: str) -> float:
    """The seconds for which answers of a client method may be cached, as set by ops staff."""
    return policy_in_call(OPERATIONS[method]).upstream_cache_seconds


def animal(details: "AnimalDetails") -> dict[str, Any]:
    """The client's `to_dict()`, with all traits that upstream has."""
    raw, value = details.raw_data, details.to_dict()
    is_nested = isinstance(raw.get("data"), dict)
    found = traits.traits_of(raw["data"]["searchResultViewModel"] if is_nested else raw)
    also_read = {name: trait for name, trait in value["traits"].items() if name not in found}
    return {**value, "traits": {**found, **also_read}}


async def _or_not_found(parameter: str, value: str, answer: Awaitable[T]) -> T:
    """The answer about an animal. Raises NotFound if upstream does not have the animal."""
    try:
        return await answer
    except UpstreamError as error:
        if (error.upstream or {}).get("status") != 404:
            raise
    raise NotFound(
        f"NSIP has no animal {value}.",
        reason="not_found",
        parameter=parameter,
        value=value,
        expected="the LPN of an animal in NSIP's database",
        suggestion=inputs.find_lpn(parameter),
    )


@dataclass(frozen=True)
class Fetches:
    """The `fetch` of each operation. All of them raise InvalidArgument, NotFound, UpstreamError."""

    api: Nsip

    async def last_update(self, arguments: Arguments, caller: Caller) -> Fetched:
        answer = await self.api.ask(self.api.methods.get_date_last_updated)
        date: Any = answer.value
        return _record_of(answer, date if isinstance(date, dict) else {"date": date}, shapes.SMALL)

    async def breeds(self, arguments: Arguments, caller: Caller) -> Fetched:
        answer = await self.api.ask(self.api.methods.get_available_breed_groups)
        return _record_of(answer, {"breed_groups": [asdict(group) for group in answer.value]}, shapes.SMALL)

    async def statuses(self, arguments: Arguments, caller: Caller) -> Fetched:
        answer = await self.api.ask(self.api.methods.get_statuses_by_breed_group)
        return _record_of(answer, {"statuses": answer.value}, shapes.SMALL)

    async def trait_ranges(self, arguments: Arguments, caller: Caller) -> Fetched:
        answer = await self.api.ask(self.api.methods.get_trait_ranges_by_breed, arguments["breed_id"])
        return _record_of(answer, ranges.trait_ranges(answer.value), shapes.SMALL)

    async def search(self, arguments: Arguments, caller: Caller) -> Payload:
        read = sources.search(self.api, inputs.search_question(arguments))
        return _rows(read, arguments, shapes.FOUND_ANIMAL)

    async def animal(self, arguments: Arguments, caller: Caller) -> Fetched:
        name = inputs.lpn(arguments, "search_string")
        answer = await _or_not_found("search_string", name, self.api.ask(self.api.methods.get_animal_details, name))
        return _record_of(answer, animal(answer.value), shapes.ANIMAL)

    async def lineage(self, arguments: Arguments, caller: Caller) -> Fetched:
        lpn = inputs.lpn(arguments, "lpn_id")
        answer = await _or_not_found("lpn_id", lpn, self.api.ask(self.api.methods.get_lineage, lpn))
        return _record_of(answer, lineage.pedigree(answer.value), shapes.LINEAGE)

    async def progeny(self, arguments: Arguments, caller: Caller) -> Payload:
        lpn = inputs.lpn(arguments, "lpn_id")
        read = sources.progeny(self.api, lpn)
        return _rows(lambda number: _or_not_found("lpn_id", lpn, read(number)), arguments, shapes.OFFSPRING)

    async def profile(self, arguments: Arguments, caller: Caller) -> Fetched:
        lpn = inputs.lpn(arguments, "lpn_id")
        answer = await _or_not_found("lpn_id", lpn, self.api.profile(lpn))
        found = answer.value
        value = {
            "details": animal(found.details),
            "lineage": lineage.pedigree(found.lineage),
            "progeny": asdict(found.progeny),
        }
        return _record_of(answer, value, shapes.PROFILE)


def _record_of(answer: NsipAnswer[Any], value: dict[str, Any], shape: Shape) -> Fetched:
    return Fetched(Record(value, shape, note=answer.note), answer.fresh_until)


def _rows(read: sources.Read, arguments: Arguments, shape: Shape) -> Payload:
    pages = sources.NsipPages(read, arguments.get("page"), arguments["page_size"])
    return PagedRows(pages, shape)


def operations(api: Nsip) -> list[Operation]:
    fetches = Fetches(api)
    return [
        _record(
            "nsip_get_last_update",
            "When NSIP was updated",
            "The date of the sheep database's last update.",
            fetches.last_update,
            shapes.SMALL,
            tags=("getDateLastUpdated",),
        ),
        _record(
            "nsip_list_breeds",
            "Sheep breeds",
            "Breed groups and breeds, with their ids.",
            fetches.breeds,
            shapes.SMALL,
            tags=("getAvailableBreedGroups",),
        ),
        _record(
            "nsip_get_statuses",
            "Statuses of animals",
            "Statuses of animals: CURRENT, SOLD …",
            fetches.statuses,
            shapes.SMALL,
            tags=("getStatusesByBreedGroup",),
        ),
        _record(
            "nsip_get_trait_ranges",
            "Trait ranges of a breed",
            "Range of each trait within a breed (breed_id of nsip_list_breeds).",
            fetches.trait_ranges,
            shapes.SMALL,
            {"breed_id": inputs.BREED_ID},
            required=("breed_id",),
            tags=("getTraitRangesByBreed", "EBV"),
        ),
        _list(
            "nsip_search_animals",
            "Search sheep",
            f"Sheep by breed_id and search_criteria ({', '.join(criteria.CRITERIA)}), sorted by a trait (reverse: "
            "highest first).",
            fetches.search,
            shapes.FOUND_ANIMAL,
            inputs.SEARCH,
            page_size=inputs.SEARCH_PAGE,
            examples={
                "where": {"Gender": "Male"},
                "aggregate": {"groupBy": ["Gender"], "metrics": [{"op": "count"}]},
            },
            field_names=shapes.names(shapes.FOUND_ANIMAL.fields.values()),
            tags=("getPageOfSearchResults", "EBV", "ram", "ewe"),
        ),
        _record(
            "nsip_get_animal",
            "Get a sheep",
            "One animal by LPN or registration number (search_string): traits, parents, breed, contact.",
            fetches.animal,
            shapes.ANIMAL,
            {"search_string": inputs.lpn_schema("LPN or registration number")},
            required=("search_string",),
            field_names=tuple(shapes.ANIMAL.section_names),
            tags=("getAnimalDetails", "EBV", "breeder"),
        ),
        _record(
            "nsip_get_lineage",
            "Pedigree of a sheep",
            "The ancestors of an animal (lpn_id) by generation.",
            fetches.lineage,
            shapes.LINEAGE,
            {"lpn_id": inputs.lpn_schema("LPN")},
            required=("lpn_id",),
            field_names=tuple(shapes.LINEAGE.section_names),
            tags=("getLineage", "ancestors"),
        ),
        _list(
            "nsip_get_progeny",
            "Offspring of a sheep",
            "The offspring of an animal (lpn_id).",
            fetches.progeny,
            shapes.OFFSPRING,
            inputs.PROGENY,
            required=("lpn_id",),
            page_size=inputs.PROGENY_PAGE,
            examples={
                "where": {"Sex": "Female"},
                "aggregate": {"groupBy": ["Sex"], "metrics": [{"op": "count"}]},
            },
            field_names=shapes.names(shapes.OFFSPRING.row),
            tags=("getPageOfProgeny", "lambs"),
        ),
        _record(
            "nsip_search_by_lpn",
            "Profile of a sheep",
            "One animal (lpn_id) as a whole: details, lineage and first offspring.",
            fetches.profile,
            shapes.PROFILE,
            {"lpn_id": inputs.lpn_schema("LPN")},
            required=("lpn_id",),
            field_names=tuple(shapes.PROFILE.section_names),
            tags=("search_by_lpn",),
        ),
    ]


def _record(
    name: str,
    title: str,
    description: str,
    fetch: FetchAsync,
    shape: Shape,
    parameters: Mapping[str, inputs.Schema] | None = None,
    **more: Any,
) -> Operation:
    return _operation(Kind.RECORD, name, title, description, fetch, shape, parameters or {}, **more)


def _list(
    name: str,
    title: str,
    description: str,
    fetch: FetchAsync,
    shape: Shape,
    parameters: Mapping[str, inputs.Schema],
    *,
    page_size: int,
    **more: Any,
) -> Operation:
    settings = {"default_page_size": page_size}
    return _operation(
        Kind.LIST, name, title, description, fetch, shape, parameters, settings, page_size=page_size, **more
    )


def _operation(
    kind: Kind,
    name: str,
    title: str,
    description: str,
    fetch: FetchAsync,
    shape: Shape,
    parameters: Mapping[str, inputs.Schema],
    settings: Mapping[str, Any] | None = None,
    *,
    page_size: int = 0,
    **more: Any,
) -> Operation:
    return Operation(
        name=name,
        title=title,
        description=description,
        kind=kind,
        parameters={**parameters, "summarize": inputs.SUMMARIZE},
        summarizes=True,
        plain=inputs.PLAIN,
        aliases=inputs.ALIASES,
        sources=inputs.SOURCES,
        fetch=fetch,
        form_of=partial(inputs.form, page_size=page_size),
        shape=shape,
        version=as_fresh_as_its_answer,
        endpoint=f"/api/v1/tools/{name}",
        settings={"token_budget_threshold": THRESHOLD, "cache_seconds": CACHE_SECONDS, **(settings or {})},
        **more,
    )
