"""Trigrams: no file that holds a text is left out."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core import patterns
from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.index.grams import GramsQuery, signature_of, texts_in
from gateway.connectors.codebase.index.store import IndexStore
from tests.gateway.connectors.codebase.indexes import put

TEXTS = {
    "a.py": "def get_page(self):\n    return self.pages['first']\n",
    "b.py": 'Class Page:\n    PAGE = "x"\n',
    "c.md": "Überall ist Straße, 'a' and \"b\"\n",
    "d.txt": "",
}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["get_page"], ["a.py"]),
        (["PAGE"], ["a.py", "b.py"]),
        (["page", "return"], ["a.py"]),
        (['"x"'], ["b.py"]),
        (["Straße,"], ["c.md"]),
        (["nothing like it"], []),
        (["ab", "x"], None),
        (["straße"[3:5]], None),
        ([], None),
    ],
)
def test_files_that_may_hold_texts(store: IndexStore, texts: list[str], expected: list[str] | None):
    put(store, TEXTS)
    assert store.paths_that_may_hold(texts) == expected


def test_a_changed_file_is_found_by_what_it_holds_now(store: IndexStore):
    put(store, TEXTS)
    put(store, {"a.py": "something else\n"})
    assert store.paths_that_may_hold(["get_page"]) == []
    assert store.paths_that_may_hold(["something"]) == ["a.py"]


def test_the_scope_is_kept(store: IndexStore):
    put(store, TEXTS)
    store.choose(lambda path: path.startswith("b"))
    assert store.paths_that_may_hold(["page"]) == ["b.py"]
    assert store.paths() == ["b.py"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (r"def .*_page\(", ["def ", "_page("]),
        (r"^class \w+:$", ["class ", ":"]),
        (r"(foo|bar)baz", ["baz"]),
        (r"colou?r", ["colo", "r"]),
        (r"a|b", []),
        (r"\p{Lu}oo", []),
        (r"(", []),
        (r"[[:alpha:]]_LIM", []),
        (r"[a[:digit:]]_LIM", []),
        (r"[^]a[:digit:]]_LIM", []),
        (r"[a--b]_LIM", []),
        (r"(?:foobaz){e<=1}", []),
        (r"foobaz{i<=1:[a-z]}", []),
        (r"\\foobaz{2i+1d<=4}", []),
        (r"class Shop \{", ["class Shop {"]),
        (r"\[\[id\]\]{2,3}", ["[[id]"]),
    ],
)
def test_texts_of_an_expression(expression: str, expected: list[str]):
    assert texts_in(expression) == expected


@given(
    st.text(alphabet="abcdeABC_(\"' ä\n", min_size=1, max_size=60),
    st.integers(0, 59),
    st.integers(1, 12),
)
def test_no_part_of_a_text_leaves_it_out(text: str, start: int, length: int):
    part = text[start : start + length]
    query = GramsQuery([part, part.upper()])
    assert not query or query.may_be_in(signature_of(text))
    for literal in texts_in(re.escape(part)):
        assert literal in text


@given(
    st.text(alphabet="ab[]^{}:e<=1-&|().*+?\\", min_size=1, max_size=16), st.text(alphabet="abe[]{1<=:-&", max_size=12)
)
def test_every_match_contains_the_texts_of_its_expression(expression: str, text: str):
    literals = texts_in(expression)
    try:
        compiled = patterns.compiled(expression)
    except InvalidArgument:
        return
    for match in compiled.finditer(text, timeout=1):
        assert all(literal in match[0] for literal in literals)


@pytest.mark.parametrize("letter", ["İ", "ı", "ſ", "K", "É"])
def test_letters_that_ignore_their_case_with_one_of_ascii_leave_nothing_out(letter: str):
    text = f"ab{letter}cd"
    for asked in (f"ab{other}cd" for other in "iskIK" if re.search(other, letter, re.IGNORECASE)):
        assert GramsQuery([asked]).may_be_in(signature_of(text))


def test_few_files_without_a_text_may_hold_it():
    """A file of random words, and words that it does not hold."""
    random = Random(1)
    words = ["".join(random.choices("abcdefghijklmnopqrst", k=8)) for _ in range(3_000)]
    signature = signature_of(" ".join(words[:100]))
    assert all(GramsQuery([word]).may_be_in(signature) for word in words[:100])
    assert sum(GramsQuery([word]).may_be_in(signature) for word in words[100:]) < 10
