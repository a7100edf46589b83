"""A text that is cut ends at a sentence, in any script, and never inside a character as people count them."""

import pytest

from context_protection.core.extracts import extract
from context_protection.core.splitting.sentence_ends import Sentences
from context_protection.core.splitting.sentences import head, piece_end, word_end


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("One is here. Two is there. Three", 27, "One is here. Two is there."),
        ("One is here. Two is there. Three", 20, "One is here."),
        ("Dr. Smith arrives at ten. He leaves at noon.", 30, "Dr. Smith arrives at ten."),
        ("静かな部屋です。海が見えます。朝食は七時からです。", 16, "静かな部屋です。海が見えます。"),
        ("Is there a lift? Yes! And a garage", 22, "Is there a lift? Yes!"),
    ],
)
def test_a_head_is_the_whole_sentences_that_fit(text: str, limit: int, expected: str):
    assert head(text, limit) == expected


def test_a_text_that_fits_stays_as_it_is():
    assert head("Short and sweet", 15) == "Short and sweet"
    assert piece_end("Short and sweet", 15) == 15


def test_a_sentence_too_long_for_the_limit_ends_after_a_word():
    assert head("a sentence that goes on and on without an end", 21) == "a sentence that goes"


@pytest.mark.parametrize("limit", range(1, 26))
def test_a_family_of_emoji_is_never_torn(limit: int):
    family = "👨‍👩‍👧‍👦"
    end = word_end(family * 4, limit)
    assert end >= 1
    if limit >= len(family):
        assert end % len(family) == 0
        assert end <= limit


@pytest.mark.parametrize("text", ["x" * 50, " " * 50, "\n" * 50, "é" * 50, "静" * 50, "a. " * 20])
def test_a_piece_always_gets_on_and_never_over_its_limit(text: str):
    for limit in range(1, 40):
        assert 1 <= piece_end(text, limit) <= limit


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2028", "\u3000", "\x85"])
def test_a_letter_before_a_wide_space_and_a_stop_is_text_like_any_other(space: str):
    """The library for sentences would panic, which is no Exception."""
    text = f"Some have vitamin A{space}. Others have none. The rest is unknown"
    assert head(text, len(text) - 3) == f"Some have vitamin A{space}. Others have none."
    assert extract(text, 50).startswith(f"Some have vitamin A{space}.")
    assert 0 < Sentences(text, 0, len(text)).first(0) < len(text)


def test_the_end_is_found_behind_more_text_than_is_looked_at():
    text = "This sentence is one of many. " * 1000
    assert head(text, 20_000).endswith("many.")
    assert len(head(text, 20_000)) > 19_900
