"""Extracts of long texts."""

from itertools import product

import pytest

from context_protection.core import extracts

WALL = "The garden wall is of grey stone. "
STONES = WALL * 20


def test_the_first_sentences_come_first_and_a_later_one_with_a_keyword_follows():
    text = f"A quiet house by the lake. {STONES}Late check-in costs 20 euros. {STONES}"
    shown = extracts.extract(text, 120)
    assert shown == "A quiet house by the lake. The garden wall is of grey stone. … Late check-in costs 20 euros."


def test_without_a_keyword_the_first_sentences_fill_the_extract():
    assert extracts.extract(STONES, 120) == (WALL * 3).rstrip()


def test_a_keyword_among_the_first_sentences_is_not_repeated():
    text = f"Guests like the lake. {STONES}"
    assert extracts.extract(text, 90).count("Guests") == 1


def test_a_sentence_that_does_not_fit_is_left_out():
    text = f"A quiet house. {STONES}The price covers {'linen, ' * 40}and towels. {STONES}"
    assert "price" not in extracts.extract(text, 120)


@pytest.mark.parametrize("text", ["x" * 500, "長い文章です。" * 100, "A. " * 300, "\n" * 400, f"guest {'y' * 500}"])
def test_no_text_makes_an_extract_longer_than_its_limit_or_empty_handed(text: str):
    assert len(extracts.extract(text, 100)) <= 100


@pytest.mark.parametrize(
    ("text", "shown", "said"),
    [
        ("one two three four", "one two", "2 of 4 words"),
        ("one two three four", "one … four", "2 of 4 words"),
        ("長い文章です" * 10, "長い文章です", "54 of 60 characters"),
    ],
)
def test_what_is_missing_is_counted_in_words_or_where_there_are_none_in_characters(text: str, shown: str, said: str):
    assert extracts.missing(text, shown) == said


@pytest.mark.parametrize("space", [chr(point) for point in range(256) if chr(point).isspace()])
def test_words_are_what_white_space_separates(space: str):
    for count in range(5):
        for characters in product(f"a {space}", repeat=count):
            text = "".join(characters)
            assert extracts._count_of_words(text) == len(text.split()), repr(text)
