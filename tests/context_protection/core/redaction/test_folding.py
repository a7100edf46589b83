"""Folding: every quick way gives the same text as the simple one."""

import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from context_protection.core.redaction import folding
from context_protection.core.redaction.folding import composed, fold_keeping_length

MANY_LETTERS = "".join(map(chr, range(0xC0, 0x250)))
OTHERS = [*"aE7 -«»\n\ud800😀門가", "\u0301", "\u036f", "\u0370"]
TEXTS = st.text(st.sampled_from([*OTHERS, *map(chr, folding._TABLE)]), max_size=40)


@given(TEXTS)
@example("Café – « Türcode » ’７’ `x`")
@example(MANY_LETTERS)
@example(MANY_LETTERS[:50])
def test_plain_letters_are_those_of_the_table(text: str):
    assert folding._plain(text) == text.translate(folding._TABLE)


@given(TEXTS)
@example("e\u0301")
@example("\u03b1\u0345")
@example("\u0430\u0300")
def test_accents_are_composed_where_there_are_combining_ones(text: str):
    has_combining = re.search("[\u0300-\u036f]", text) is not None
    assert composed(text) == (unicodedata.normalize("NFC", text) if has_combining else text)


def test_ascii_is_folded_like_other_texts():
    text = "Wi-Fi `Key` \"7\"\t'~'"
    assert fold_keeping_length(f"{text}é")[:-1] == fold_keeping_length(text) == "wi-fi 'key' \"7\"\t'~'"


@given(TEXTS)
def test_a_folded_text_has_the_length_of_the_composed_one(text: str):
    assert len(fold_keeping_length(composed(text))) == len(composed(text))
