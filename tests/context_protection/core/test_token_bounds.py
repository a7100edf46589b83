"""The bound that needs no count is never below what Claude counts, whatever the text."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from context_protection.core.budget import dumps
from context_protection.core.tokens import ClaudeRuler, claude, exact, most_tokens, tighter_bound

ALPHABETS = (
    "etaoinshrdlu",
    "jqxzJQXZ",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789",
    " ",
    "\"'*-=_#~<>|.!$%&()+,/:;?@[]^`{}\\\x7f",
    "éüñßİŞǅΩЖжſ",
    "\u00a0\u2028\u200b\u202f",
    "你好世界ｱ가각",
    "สวัสดีबुकिंग",
    "😀🎉👍🏽❤️",
    "ﬀﬃℵℂ™①",
)
hostile_texts = st.lists(st.sampled_from(ALPHABETS), min_size=1, max_size=4).flatmap(
    lambda chosen: st.text(alphabet="".join(chosen), max_size=60)
)


@given(hostile_texts | st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
@settings(max_examples=600, deadline=None)
def test_no_json_has_more_tokens_than_its_bound(text: str):
    data = dumps([text])
    most = most_tokens(data)
    if most is not None:
        assert max(exact(data.decode()), claude.count(data.decode())) <= most


UNUSUAL = ["guestName", "departureDate", "NULL", "True", "HTTPServer", "iPhone", "qqqq", "XXXX", "aAaA", "don", "null"]
SPACED = ["Rotten Tomatoes", "A - B", "a  B", "X-_ -X"]
WORDS = st.from_regex(r"[A-Za-z]{4,40}|[A-Za-z][A-Za-z _-]{2,38}[A-Za-z]", fullmatch=True) | st.sampled_from(
    [*UNUSUAL, *SPACED]
)
NUMBERS = st.from_regex(r"[0-9a .,:/%-]{1,30}", fullmatch=True)
repeating_rows = st.lists(WORDS, min_size=1, max_size=6).flatmap(
    lambda words: st.lists(
        st.dictionaries(
            st.sampled_from(words),
            st.sampled_from(words) | hostile_texts | st.integers(-(9**9), 9**9) | st.floats() | NUMBERS,
            max_size=4,
        ),
        max_size=6,
    )
)


@given(repeating_rows)
@example([{"guestName": 'a "guestName" b', "name": '\\"guestName\\"'}] * 3)
@example([{"guestName": "don't \"quote\" 'guestName'", "quote": "'"}] * 3)
@example([{"a123456789b": "a123456789b"}] * 9)
@example([{"Abcz": "", ',]":{:-\\""': ']:":[-,"', '"",,,"': ':":'}] * 8)
@example([{"US Gross": '"US Gross": ":,":', "a,": '",', ",": ":"}] * 3)
@settings(max_examples=600, deadline=None)
def test_no_json_has_more_tokens_than_its_tighter_bound(rows: list[dict[str, object]]):
    data = dumps(rows)
    most = most_tokens(data)
    if most is not None:
        assert exact(data.decode()) <= tighter_bound(data, most, 0, claude) <= most


def test_counted_words_bring_the_bound_of_a_list_down():
    data = dumps([{"guestName": f"Guest {n}", "departureDate": "2026-01-02", "totalPrice": n} for n in range(200)])
    most = most_tokens(data)
    assert most is not None
    least, enough = tighter_bound(data, most, 0, claude), most - 100
    assert least < 0.8 * most
    assert least < tighter_bound(data, most, enough, claude) <= enough  # one word is enough


def test_three_digits_in_a_row_count_once_and_so_do_signs_of_json():
    data = dumps([{"n": 123_456_789, "m": 1234}] * 50)
    most = most_tokens(data)
    assert most is not None
    assert tighter_bound(data, most, most, claude) == most - 2 * (3 + 1) * 50 - data.count(b'":')


def test_names_of_several_words_bring_the_bound_down():
    data = dumps([{"US Gross": n, "Rotten Tomatoes Rating": None, "IMDB_Rating": n / 10} for n in range(200)])
    most = most_tokens(data)
    assert most is not None
    assert tighter_bound(data, most, 0, claude) < 0.7 * most


def test_without_the_vocabulary_words_are_not_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_protection.core.tokens.rulers.load_counter", _fails)
    data = dumps([{"guestName": 1}] * 9)
    assert tighter_bound(data, 1000, 0, ClaudeRuler()) == 1000


def _fails() -> None:
    raise ImportError("ctok")


@pytest.mark.parametrize("around", ["{}", "a{}", "{}a", "A{}A", " {} ", "1{}1", "{0}{0}{0}"])
def test_no_character_costs_more_than_its_bound_wherever_it_stands(around: str):
    for code in (*range(0x20, 0x600), *range(0x600, 0x10000, 13), *range(0x1F300, 0x1F700, 5)):
        if 0xD800 <= code < 0xE000:
            continue
        text = around.format(chr(code))
        most = most_tokens(text.encode())
        assert most is None or claude.count(text) <= most, hex(code)


@pytest.mark.parametrize("text", ["1 % 2 ^", "A B C D", "QXZ" * 20, "\" ' \" '", "9f3a1c7e5b2d4860"])
def test_the_bound_is_near_what_noise_costs(text: str):
    most = most_tokens(text.encode())
    assert most is not None
    assert exact(text) <= most <= 2 * exact(text) + len(text)


def test_a_text_that_normalization_changes_has_no_bound():
    assert most_tokens(json.dumps("cafe\u0301", ensure_ascii=False).encode()) is None
    assert most_tokens(json.dumps("café", ensure_ascii=False).encode()) is not None
