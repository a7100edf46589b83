"""No two classes have the same name, so that a name found in a log, a traceback or a search is one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("context_protection", "gateway", "telemetry", "benchmarks")
PRESCRIBED = re.compile("Command|Meta|Media|Migration|.+(Config|Admin|Form)")  # names that Django asks for


def classes(source: str) -> list[str]:
    """The names of all classes, also of those inside classes and functions."""
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def shared(sources: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that stand more than once, with the paths of their classes. `sources`: path and text."""
    paths = defaultdict(list)
    for path, source in sources:
        for name in classes(source):
            paths[name].append(path)
    return {name: found for name, found in paths.items() if len(found) > 1 and not PRESCRIBED.fullmatch(name)}


def test_no_two_classes_have_the_same_name() -> None:
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(paths) > 500
    assert shared((str(path.relative_to(ROOT)), path.read_text()) for path in paths) == {}


@pytest.mark.parametrize(
    "second",
    [
        "class Row: ...",
        "class Table:\n    class Row: ...",
        "def table():\n    class Row: ...",
        "if True:\n    class Row: ...",
    ],
)
def test_a_name_that_stands_twice_is_found(second: str) -> None:
    assert shared([("a.py", "class Row: ..."), ("b.py", second)]) == {"Row": ["a.py", "b.py"]}


@pytest.mark.parametrize("name", ["Command", "Meta", "Media", "Migration", "ShopConfig", "OrderAdmin", "OrderForm"])
def test_names_that_django_asks_for_may_stand_more_than_once(name: str) -> None:
    assert shared([("a.py", f"class {name}: ..."), ("b.py", f"class {name}: ...")]) == {}


def test_a_name_that_only_contains_one_of_djangos_is_no_exception() -> None:
    assert shared([("a.py", "class Metadata: ..."), ("b.py", "class Metadata: ...")]) == {"Metadata": ["a.py", "b.py"]}
