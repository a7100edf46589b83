"""The quick searches of texts find exactly what the plain ones would find."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_protection.core.redaction import terms
from context_protection.core.redaction.folding import fold_keeping_length
from context_protection.core.redaction.prose import redact_text

WORDS = ("door", "code", "doors", "garagen", "smart", "lock", "lan", "w", "wi", "fi", "pin", "password", "of", "the",
         "guest", "zebra", "withheld", "türcode", "clé", "wpa2", "1", "s", "n", "é", "中", "ж", "ß", "x")  # fmt: skip
BETWEEN = ("", " ", "  ", "-", "_", "'", ". ", "/", "\n", "[", "]", ": ", "[withheld: door code]", "[withheld: ")
TEXTS = st.lists(st.sampled_from(WORDS + BETWEEN), max_size=24).map("".join)


@given(TEXTS, st.integers(0, 12), st.none() | st.integers(0, 60))
@example("[withheld: door code] door code", 0, None)
@example("w lan and wlan and w-lan", 0, None)
@example("a smart lock, a smart_lock, a smart  lock and a smartlock", 0, None)
@example("apikey and api key and burglaralarm", 0, None)
@example("ждверь door 中code", 0, None)
@example("door", 0, None)
@example("xdoor", 1, None)
@example("doorbell", 0, 4)
@example("1[withheld: PIN]", 0, None)
def test_the_terms_of_a_text_are_those_that_the_pattern_finds(text: str, start: int, end: int | None) -> None:
    low, start = fold_keeping_length(text), min(start, len(text))
    end = None if end is None else max(start, min(end, len(low)))
    plainly = terms.IN_WORDS.finditer(low, start, len(low) if end is None else end)

    found = terms.in_words(low, start, end)

    assert [(match.span(), match.lastgroup) for match in found] == [(each.span(), each.lastgroup) for each in plainly]


@pytest.mark.parametrize("filler", range(0, 64, 3))
def test_terms_between_two_windows_are_found(filler: int) -> None:
    low = "z" * (terms.WINDOW - 64 + filler) + " a smart lock [withheld: door code] w lan door code keypad " * 3

    plainly = [match.span() for match in terms.IN_WORDS.finditer(low)]

    assert [match.span() for match in terms.in_words(low)] == plainly
    assert [match.span() for match in terms.in_words(low, 7)] == plainly


@pytest.mark.parametrize("word", ["door", "smart lock", "wi-fi", "w-lan", "pin", "apikey"])
def test_a_term_is_found_wherever_it_stands(word: str) -> None:
    for text in (word, f"{word} x", f"x {word}", f"x. {word}", f"x\n{word}", f"中{word}", f"({word})"):
        assert word in [match[0] for match in terms.in_words(text)], text


def test_a_text_with_many_different_accents_is_folded_like_its_letters() -> None:
    accents = "".join(chr(code) for code in range(0xC0, 0x250))

    low = fold_keeping_length(accents)

    assert low == "".join(map(fold_keeping_length, accents))
    assert len(low) == len(accents)
    assert fold_keeping_length(unicodedata.normalize("NFC", "clé“ – Größe")) == 'cle" - große'


@pytest.mark.parametrize("name", ["doorCode", "the doorCode", "éa doorCode", "中doorCode", "A doorCode", "garage2Pin"])
def test_a_camel_case_name_is_found_beside_any_letters(name: str) -> None:
    changed, kinds = redact_text(f"{name}: 4711")

    assert len(kinds) == 1
    assert "4711" not in changed
