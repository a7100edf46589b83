"""Terms of texts and questions."""

import pytest

from gateway.connectors.codebase.index.kinds import FileKind, asked_kinds, kind_of
from gateway.connectors.codebase.index.terms import LONGEST, question_terms, terms_of


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getUserName(", "=getusername get user name"),
        ("HTTPServer_v2", "=httpserver_v2 http server"),
        ("MAX_PAGE_SIZE", "=max_page_size max page size"),
        ("running tests", "run test"),
        ("kebab-case", "kebab case"),
        ("日本語", "日本語"),
        ("x = 12", "12"),
        ("a" * (LONGEST + 1), ""),
        ("", ""),
    ],
)
def test_a_text_becomes_terms(text: str, terms: str):
    assert terms_of(text) == terms


def test_a_question_is_searched_without_words_of_asking():
    assert question_terms("Where do we fix the parsing of parse_header?") == ("pars", "=parse_header", "header")


def test_a_question_of_nothing_else_is_searched_as_it_is():
    assert question_terms("where is it?") == ("where", "is", "it")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/app.py", FileKind.SOURCE),
        ("tests/test_app.py", FileKind.TEST),
        ("src/app.spec.ts", FileKind.TEST),
        ("pkg/router_test.go", FileKind.TEST),
        ("src/test/java/FooTest.java", FileKind.TEST),
        ("src/latest/contest.py", FileKind.SOURCE),
        ("docs/guide.md", FileKind.DOCS),
        ("README", FileKind.DOCS),
        ("package.json", FileKind.DATA),
        (".github/workflows/ci.yml", FileKind.DATA),
    ],
)
def test_a_path_tells_what_a_file_is_for(path: str, kind: FileKind):
    assert kind_of(path) is kind


def test_a_question_names_the_kinds_it_is_about():
    assert asked_kinds("Which tests cover the YAML loader?") == {FileKind.TEST, FileKind.DATA}
    assert asked_kinds("the latest contest") == frozenset()
