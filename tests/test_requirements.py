"""Every requirement, law and ruling that a comment cites is explained in docs/requirements.md."""

import re
from pathlib import Path

from django.conf import settings

CITED = re.compile(
    r"\b(N-FR-\d{3}|N-SC-\d{3}|FR-\d{3}|SC-\d{3}|US\d-\d|DM\d|(?:rulings?|law) \d+(?:(?: to |, | and )\d+)*"
    r"|(?<=[( ])[EOR]\d(?=[,)]))"
)
FOLDERS = ("gateway", "context_protection", "telemetry", "tests", "benchmarks")


def numbers_in(text: str) -> set[str]:
    found: set[str] = set()
    for cited in CITED.findall(text):
        word, _, numbers = cited.partition(" ")
        found |= {f"{word.rstrip('s')} {number}" for number in re.findall(r"\d+", numbers)} if numbers else {cited}
    return found


def test_every_number_that_is_cited_is_explained():
    root = Path(settings.BASE_DIR)
    page = (root / "docs/requirements.md").read_text()
    explained = set(re.findall(r"^\| ([A-Z][\w-]+) \|", page, re.MULTILINE))
    for word in ("law", "ruling"):
        table = page.partition(f"| {word} | |")[2].partition("\n\n")[0]
        explained |= {f"{word} {number}" for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    cited = {
        number: path.relative_to(root)
        for folder in FOLDERS
        for path in (root / folder).rglob("*.py")
        for number in numbers_in(path.read_text())
    }
    assert {number: str(path) for number, path in cited.items() if number not in explained} == {}
    assert len(cited) > 50
