"""The scope of a query."""

import pytest

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.query.scope import QueryScope

PATHS = ["README.md", "src/main.py", "src/ui/app.ts", "srcs/other.py", "tests/test_main.py"]


def held(**given: list[str]) -> list[str]:
    scope = QueryScope.of(given)
    return [path for path in PATHS if scope.holds(path)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, PATHS),
        ({"directories": ["src"]}, ["src/main.py", "src/ui/app.ts"]),
        ({"directories": ["./src/", "tests"]}, ["src/main.py", "src/ui/app.ts", "tests/test_main.py"]),
        ({"directories": ["src", "."]}, PATHS),
        ({"filePatterns": ["*.py"]}, ["src/main.py", "srcs/other.py", "tests/test_main.py"]),
        ({"filePatterns": ["src/*.py", "**/*.ts"]}, ["src/main.py", "src/ui/app.ts"]),
        ({"filePatterns": ["*.py"], "excludePatterns": ["tests/"]}, ["src/main.py", "srcs/other.py"]),
        ({"filePatterns": ["/*.md", "/src/*.py", "/main.py"]}, ["README.md", "src/main.py"]),
        ({"excludePatterns": ["/src"]}, ["README.md", "srcs/other.py", "tests/test_main.py"]),
        ({"excludePatterns": ["test_*"]}, PATHS[:-1]),
        ({"directories": ["src"], "filePatterns": ["*.md"]}, []),
    ],
)
def test_files_are_chosen(given: dict[str, list[str]], expected: list[str]):
    assert held(**given) == expected


@pytest.mark.parametrize("name", ["directories", "filePatterns", "excludePatterns"])
@pytest.mark.parametrize("path", ["../other", "src/../../other", "//etc", "~/x", "C:\\x", "a\0b", "..", ".git/config"])
def test_a_path_that_leads_out_is_refused(name: str, path: str):
    with pytest.raises(InvalidArgument) as refused:
        QueryScope.of({name: [path]})
    assert (refused.value.parameter, refused.value.value) == (f"scope.{name}", path)
    assert refused.value.reason == "path_refused"


def test_a_folder_with_an_absolute_path_is_refused():
    with pytest.raises(InvalidArgument):
        QueryScope.of({"directories": ["/etc"]})


def test_a_scope_of_everything_is_whole():
    assert QueryScope.of({}).is_whole
    assert QueryScope.of({"directories": ["."]}).is_whole
    assert not QueryScope.of({"excludePatterns": ["x"]}).is_whole
