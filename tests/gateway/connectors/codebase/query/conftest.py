"""A small project with its index."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.git.history import past
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.index.index_place import SqlitePlace
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.query.answer import answer_query
from gateway.connectors.codebase.query.request import QueryRequest
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.indexes import put, put_past, text_files

FILES = {
    "src/parser.py": (
        "import re\n\n\n"
        "def parse_header(line):\n    name, value = line.split(':')\n    return name\n\n\n"
        "def parse_body(text):\n    return re.split(r'\\s+', text)\n"
    ),
    "src/server.py": (
        "from parser import parse_header\n\n\n"
        "class Server:\n    def listen(self, port):\n        self.port = port\n\n"
        "    def read(self, line):\n        return parse_header(line)\n"
    ),
    "tests/test_parser.py": (
        "from parser import parse_header\n\n\ndef test_it():\n    assert parse_header('a: b') == 'a'\n"
    ),
    "docs/guide.md": "# Guide\n\nThe server listens on a port.\n",
}

Ask = Callable[..., dict[str, Any]]


def budget_for(pieces: int) -> Budget:
    """It is used up after so many pieces of work."""
    seconds = count()
    return Budget(limit=10, seconds=(pieces + 2) / 0.9, price=0.0, clock=lambda: next(seconds))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repositories.new(tmp_path / "project", **FILES)


@pytest.fixture
def place(root: Path, tmp_path: Path) -> ProjectPlace:
    return indexed(root, tmp_path / "index.sqlite3")


def indexed(root: Path, file: Path) -> ProjectPlace:
    index, repository = SqlitePlace(file), opened(root)
    with index.writing() as store:
        assert store is not None
        put(store, {each.path: each.content for each in text_files(root)})
        put_past(store, ((each.subject, each.paths) for each in past(repository)))
    return ProjectPlace(root, index, is_indexed=True)


@pytest.fixture
def ask(place: ProjectPlace) -> Ask:
    """The document of the answer. `cost`: the limit; `place`: if another."""

    def ask(query: Any, *, at: ProjectPlace = place, budget: Budget | None = None, **arguments: Any) -> dict[str, Any]:
        request = QueryRequest.of({"query": query, "responseFormat": "JSON", **arguments})
        return answer_query(at, request, budget or Budget(limit=1.0, seconds=60, price=0.01)).document

    return ask
