"""The documentation is whole: every page is in the index, every link leads somewhere, every word of the glossary is
used in the code."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from context_protection.core.errors import CODES
from telemetry.measurement import FIGURES

ROOT = Path(settings.BASE_DIR)
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docker/*.md")])
CODE = ("gateway", "context_protection", "telemetry")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the heading of each link within the repository."""
    for address in _LINK.findall(_BLOCK.sub("", page.read_text())):
        if "://" not in address:
            path, _, heading = address.partition("#")
            yield (page.parent / path).resolve() if path else page, heading


def headings(page: Path) -> set[str]:
    """As GitHub makes addresses of them."""
    titles = re.findall(r"^#+ (.+)$", _BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_clients_page_lists_the_error_codes():
    page = (ROOT / "docs/clients.md").read_text()
    listed = {int(code.replace("−", "-")): words for code, words in re.findall(r"^\| (−32\d+) \| (.+) \|$", page, re.M)}
    assert listed == CODES


def test_the_page_of_monitoring_has_every_metric_of_a_figure():
    page = (ROOT / "docs/monitoring.md").read_text()
    missing = {each.metric.name for each in FIGURES.values() if each.metric and each.metric.name not in page}
    assert missing == set()


def test_the_index_has_every_page():
    indexed = {path for path, _ in links(ROOT / "docs/README.md")}
    pages = {path for path in PAGES if path.parent != ROOT and path != ROOT / "docs/README.md"}
    assert pages - indexed == set()


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_leads_somewhere(page: Path):
    found = list(links(page))
    missing = [str(path) for path, _ in found if not path.exists()]
    unknown = [f"{path}#{heading}" for path, heading in found if heading and heading not in headings(path)]
    assert missing + unknown == []


def test_the_code_uses_every_word_of_the_glossary():
    code = " ".join(path.read_text() for folder in CODE for path in (ROOT / folder).rglob("*.py"))
    joined = re.sub(r"[\s_-]", "", code).lower()
    words = re.findall(r"^\| (.+?) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)[1:]
    assert len(words) > 15
    assert [word for word in words if re.sub(r"[\s-]", "", word) not in joined] == []


def test_the_readme_fits_on_three_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
