"""Terms of texts and questions."""

import pytest

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
        ("ÉcolePrimaire", "=écoleprimaire école primair"),
        ("ИмяФайла", "=имяфайла имя файла"),
        ("größeÄndern", "=größeändern größe ändern"),
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
