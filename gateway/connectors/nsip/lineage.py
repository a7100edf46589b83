"""A pedigree as data. Upstream writes the facts about each animal as HTML, of which the client reads only six."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsip_client.models import Lineage

_BLOCK = re.compile(r"</?(?:div|p|br|li|ul|tr|td)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_READ_AS = {
    "US Index": "us_index",
    "US Hair Index": "us_index",
    "SRC$ Index": "src_index",
    "DOB": "date_of_birth",
    "Sex": "sex",
    "Status": "status",
}


def pedigree(lineage: "Lineage") -> dict[str, Any]:
    """The client's `to_dict()`, plus each animal's `other`: the facts that the client does not read."""
    value = asdict(lineage)
    contents = {node["lpnId"]: node.get("content") or "" for node in _nodes(_root(lineage.raw_data))}
    for animal in _animals(value):
        if other := _unread(contents[animal["lpn_id"]], animal):
            animal["other"] = other
    return value


def generation_sizes(generations: list[list[Any]]) -> dict[str, int]:
    """{"1": 2, "2": 4}: how many ancestors are known in each generation; the parents are the first."""
    return {str(number): len(animals) for number, animals in enumerate(generations, start=1)}


def facts(content: str) -> dict[str, str]:
    """The lines of the HTML as names and values: {"DOB": "2/13/2024"}. A line without a colon is a name with an empty
    value."""
    lines = [html.unescape(_TAG.sub("", line)) for line in _BLOCK.split(content)]
    pairs = (line.partition(": ") for line in map(_in_one_line, lines) if line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _unread(content: str, animal: Mapping[str, Any]) -> dict[str, str]:
    farm = html.unescape(animal["farm_name"] or "").strip()
    found = facts(content)
    return {name: value for name, value in found.items() if not _is_read(name, animal) and (value or name != farm)}


def _is_read(name: str, animal: Mapping[str, Any]) -> bool:
    return name in _READ_AS and animal[_READ_AS[name]] is not None


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _root(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    wrapped = raw.get("data")
    return wrapped if isinstance(wrapped, dict) else raw


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The nodes that the client reads as animals."""
    if "lpnId" in node:
        yield node
    for child in node.get("children") or ():
        yield from _nodes(child)


def _animals(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for animal in (value["subject"], value["sire"], value["dam"]):
        if animal is not None:
            yield animal
    for generation in value["generations"]:
        yield from generation
