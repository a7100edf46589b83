"""The search box of every page: it finds a request id, or a part of the name of a tool, key or upstream. It searches
all stored calls, not only the range of a page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.views.decorators.http import require_safe

from telemetry import facts, queries
from telemetry.models import TelemetryRecord
from telemetry.pages.address import Address, is_text
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.shell import page, show

AT_MOST = 50  # results of each kind
# The dimensions that are searched: the kind of their names, and the page about one of them.
KINDS = {"tool": ("Tool", "tool"), "key": ("Key", "caller"), "upstream": ("Upstream", "upstream")}


@dataclass(frozen=True, slots=True)
class SearchMatch:
    kind: str
    name: str
    link: str


@require_safe
@page()
def search(request: HttpRequest, address: Address) -> HttpResponseBase:
    text = address.get("q").strip()
    looked = guarded("Search", lambda: _found(text, address) if is_text(text) else [])
    found = looked.content or []
    sentence = UNREADABLE if looked.failure else _said(text, found)
    exact = [each for each in found if each.name == text and each.link]
    if len(exact) == 1:
        return HttpResponseRedirect(exact[0].link)
    if len(found) == 1 and found[0].link:
        return HttpResponseRedirect(found[0].link)
    return show(
        request,
        address,
        "telemetry/search.html",
        title="Search",
        sentence=sentence,
        found=found,
        text=text,
    )


def _said(text: str, found: list[SearchMatch]) -> str:
    if not text:
        return "Type a request id, or a part of the name of a tool, key or upstream."
    count = f"{len(found)} results" if len(found) != 1 else "1 result"
    return f"{count} for “{text}”."


def _found(text: str, address: Address) -> list[SearchMatch]:
    plain = Address(path=address.path, now=address.now, range="", zone=address.zone, chosen=address.chosen & {"tz"})
    if TelemetryRecord.objects.filter(request_id=text).exists():
        return [SearchMatch("Request", text, plain.to("call", text))]
    known: Mapping[str, Iterable[str]] = {
        "tool": facts.tools.all(),
        "key": facts.keys.all(),
        "upstream": facts.upstreams.all(),
    }
    return [
        SearchMatch(label, name, plain.to(target, name))
        for dimension, (label, target) in KINDS.items()
        for name in _names(dimension, text, known[dimension])
    ]


def _names(dimension: str, text: str, known: Iterable[str]) -> list[str]:
    names = {*queries.names(dimension, text), *(name for name in known if text.lower() in name.lower())}
    return sorted(names)[:AT_MOST]
