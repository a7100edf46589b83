"""The runbooks of docs/runbooks.md as a page, for people on call who have only a browser."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from telemetry.pages.address import Address
from telemetry.pages.shell import page, show

HEADING = re.compile(r"^## (?P<title>.+?) \(`(?P<key>\w+)`\)$")  # ## Too many errors (`error_rate`)
INLINE = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<b>[^*]+)\*\*|\*(?P<em>[^*]+)\*")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or a list if it has `items`."""

    text: SafeString | str = ""
    items: Sequence[SafeString] = ()


@dataclass(frozen=True, slots=True)
class Runbook:
    key: str  # the kind of rule
    title: str
    blocks: Sequence[Block]


@require_safe
@page()
def runbooks(request: HttpRequest, address: Address) -> HttpResponse:
    source = Path(settings.BASE_DIR) / "docs" / "runbooks.md"
    if not source.exists():
        raise Http404("docs/runbooks.md is not part of this installation.")
    return show(
        request,
        address,
        "telemetry/alerts/runbooks.html",
        title="Runbooks",
        sentence="What each alert means, where to look first, and what to do.",
        has_comparison=False,
        sections=list(sections(source.read_text())),
    )


def sections(text: str) -> Iterator[Runbook]:
    """The sections about kinds of rules. They may have paragraphs, lists with -, `code`, **bold** and *emphasis*."""
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        heading, _, body = part.partition("\n")
        if found := HEADING.match(heading):
            yield Runbook(found["key"], found["title"], list(_blocks(body)))


def _blocks(body: str) -> Iterator[Block]:
    for block in re.split(r"\n\s*\n", body.strip()):
        lines = [line.strip() for line in block.splitlines()]
        if block.startswith("- "):
            items = re.split(r"\n- ", block.removeprefix("- "))
            yield Block(items=[_inline(" ".join(item.split())) for item in items])
        else:
            yield Block(_inline(" ".join(lines)))


def _inline(text: str) -> SafeString:
    return format_html_join("", "{}", ((piece,) for piece in _pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    end = 0
    for found in INLINE.finditer(text):
        yield text[end : found.start()]
        tag = str(found.lastgroup)
        yield format_html_join("", f"<{tag}>{{}}</{tag}>", [(found[tag],)])
        end = found.end()
    yield text[end:]
