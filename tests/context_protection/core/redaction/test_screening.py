"""A list or an object is redacted as if each of its elements or fields had been searched."""

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_protection.core.redaction import Visibility, harmless, json_values, may_name_secret, redact
from context_protection.core.redaction.prose import indexes_with_terms, redact_text
from context_protection.core.redaction.screening import AT_ONCE, DEEPEST, suspects

NAMES = ("id", "name", "notes", "doorCode", "value", "label", "code", "smartLock", "entry", "customFields", "columns",
         "rows", "pin", "wifi", "é", "address", "garage", "tur")  # fmt: skip
TEXTS = ("", "x", "the door code is 4711", "Mill Lane 7", "Door code: 4711", "4711", "left of the mill", "2026-01-02",
         "wifi pass: Xy12ab!9", "Ada", '{"doorCode": "4711"}', '[{"pin": 4711}]', "Türcode: 4711", "code「4711」", "{",
         "[withheld: PIN]", "token: abcdef123456", "Door code", "Keybox", "a\x00b door code 99")  # fmt: skip
SCALARS = st.sampled_from([None, True, False, 0, 7, 4711, 1.5, *TEXTS])
VISIBILITIES = [Visibility(), Visibility(reveal=frozenset({"doorCode"})), Visibility(withheld=frozenset({"name"}))]
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=5) | st.dictionaries(st.sampled_from(NAMES), below, max_size=4),
    max_leaves=12,
)


@st.composite
def rows(draw: st.DrawFn) -> list[Any]:
    """A list whose rows mostly have the same fields."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    each = st.fixed_dictionaries(dict.fromkeys(names[:3], SCALARS) | dict.fromkeys(names[3:], VALUES))
    return draw(st.lists(each | VALUES if draw(st.booleans()) else each, max_size=12))


def as_object(elements: list[Any]) -> dict[str, Any]:
    """The elements as fields, most of them with names that mean nothing."""
    return {f"{NAMES[n]}" if n < len(NAMES) and n % 3 == 0 else f"part{n}": each for n, each in enumerate(elements)}


@given(rows() | rows().map(as_object), st.sampled_from(VISIBILITIES))
@example({f"part{n}": {"label": "Door code", "value": "4711"} for n in range(5)}, Visibility())
@example({f"part{n}": {"data": {"code": 4711}} for n in range(5)} | {"doorCode": {"a": 1}}, Visibility())
@example({f"part{n}": {"id": 1, "name": "Ada"} for n in range(5)}, Visibility(withheld=frozenset({"name"})))
@example({f"smartLock{n}": {"code": 4711} for n in range(5)}, Visibility())
@example({"customFields": {f"part{n}": {"code 1": "x71y"} for n in range(5)}}, Visibility())
@example([["Door code", "4711"]] * 5, Visibility())
@example([{"name": "Door code", "value": "4711"}] * 5, Visibility())
@example([{"name": "Mill Lane", "value": "the door code is 4711"}] * 5, Visibility())
@example([{"customField": {"name": "Keybox"}, "value": 4711}] * 5, Visibility())
@example([{"notes": ["Door code", "4711"]}] * 5, Visibility())
@example([{"entry": {"code": 4711}}] * 5, Visibility())
@example([{"customFields": {"code 1": "x71y"}}] * 5, Visibility())
@example([{"guest": {"code": 4711}, "smartLock": {"code": 4711}}] * 5, Visibility())
@example([{"a": {"id": 1}, "b": {"id": 1}}] * 4 + [{"a": {"id": 1}, "b": {"id": "Door code: 4711"}}], Visibility())
@example([{"a": ["x"], "b": ["x"]}] * 4 + [{"a": ["Door code: 4711"], "b": ["x"]}], Visibility())
@example([{"doorCode": {"a": 1}}] * 5, Visibility())
@example([{"garage": {"code": 4711}}] * 5, Visibility())
@example([{"garage": {"data": {"data": {"code": 4711}}}}] * 5, Visibility())
@example([{"notes": "left of the mill " * 100 + "the door code is 4711"}] * 5, Visibility())
@example([{"garage": ["4711"]}] * 5, Visibility())
@example([1, 2, 3, {"name": "Door code", "value": "4711"}], Visibility())
@example([{"customFields": {"code 1": "x71y"}}] * 9, Visibility())
@example([{"a": 1}] * 4 + [{"b": [[{"notes": "Door code: 4711"}]]}], Visibility())
@example([{"garage": {"en": "4711"}}, {"garage": "4711"}, {"garage": 4711}, {"garage": None}] * 2, Visibility())
@example([{"columns": ["guest", "Door code"], "rows": [["Ada", "4711"]]}] * 5, Visibility())
@example([{"doorCode": "4711", "notes": "the gate code is 9911"}] * 5, Visibility())
@example([{"doorCode": "4711", "notes": "the gate code is 9911"}] * 9, Visibility())
@example([{"doorCode": "4711", "guest": {"pin": "9911"}}] * 5, Visibility())
@example([{"garage": {"code": 4711}, "doorCode": "4711"}] * 5, Visibility())
@example([{"doorCode": "4711"}] * 4 + [{"doorCode": None, "notes": "the gate code is 9911"}], Visibility())
@example([{"doorCode": "4711", "pin": "9911"}] * 5, Visibility(reveal=frozenset({"pin"})))
@example([{"garage": {"x": 1}, "pin": "9911"}] * 5, Visibility())
@example({"garage": [{"definition": {"name": "Spare"}, "value": "the door code is 4711"}] * 5}, Visibility())
@example({"garage": [{"definition": {"name": "Spare"}, "value": '{"doorCode":"1234"}'}] * 9}, Visibility())
@example({"garage": [{"definition": {"name": "Spare"}, "value": 4711}] * 5}, Visibility(reveal=frozenset({"Spare"})))
@example([{"id": 1}] * 3 + [{"notes": "left 1"}] * 9 + [{"notes": "the door code is 4711"}], Visibility())
@example({"smartLock": [{"code": 4711}] * 5}, Visibility())
@example({"smartLock": [{"code": 4711}] * 9}, Visibility())
@example({"customFields": [{"code 1": "x71y"}] * 5}, Visibility())
def test_the_same_is_found_as_by_searching_each_element(value: Any, visibility: Visibility):
    found = redact(value, visibility)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_values, "FEWEST", 10**9)
        assert redact(value, visibility) == found


@pytest.mark.parametrize("count", [5, 9])
def test_only_the_fields_that_may_hold_something_are_searched(count: int):
    rows: list[dict[str, Any]] = [
        {"id": n, "token": f"pin: 471{n}", "notes": "left of the mill", "guest": {"age": n}} for n in range(count)
    ]
    rows[1] |= {"notes": "the door code is 4711"}
    rows[2] |= {"token": None}
    rows[3] |= {"guest": {"pin": "9911"}}
    rows[4] |= {"token": "", "label": "Door code", "value": "4711"}
    found = suspects(rows, within="", custom=False)
    assert found.whole == {4}
    assert found.fields == {0: {1}, 1: {1, 2}, 3: {1, 3}} | {n: {1} for n in range(5, count)}


# Everything that decides whether a text has a term: words, their borders, and what folding changes.
PIECES = ("the door code is 4711", "door code", "code", "4711", "wifi", "pass", ": ", " ", "\n", "_", "x", "7", "«",
          "e", "\u0301", "İ", "Türcode", "doorCode", "bearer abc123def", "Authorization: xyz123abc", "[withheld: PIN]",
          "»", "\x00", "’s", "É", "código", "https://storage.example/a_1.png")  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=6))
@example(["door", "code: 4711"])
@example(["İ" * 9, "the door code is 4711"])
@example(["e\u0301" * 30, "the door code is 4711"])
@example(["the gate", "pin: 4711"])
@example(["a", "myDoorCode: 4711"])
@example(["a", "Tu\u0308rcode: 4711"])
@example(["a\nb\nc", "the door code is 4711", "doorCode: 4711"])
@example(["a", "AUTHORIZATION: Basic Abcd1234efgh", "b"])
@example([*(f"leftTurn {n}" for n in range(20)), "doorCode: 4711", *(f"rightTurn {n}" for n in range(20))])
@example(["Cafe\u0301 7", "\u1112\u1161\u11ab" * 40, "the door code is 4711", "plain words"])
@example(["Cafe\u0301 7", "\u0958" * 60, "the door code is 4711"])
@example(["leftTurn 7", "myDoorCode: 4711"])
@example(["é", "Cle\u0301 7", "the door code is 4711"])
def test_texts_searched_together_are_those_with_secrets(texts: list[str]):
    found = {at for at, text in enumerate(texts) if redact_text(text)[1]}
    assert found <= indexes_with_terms(texts)


def test_texts_without_terms_are_not_searched_one_by_one():
    texts = [f"Mill Lane {n}, left of the mill" for n in range(50)]
    texts += ["https://storage.example/gate/1", "C:\\garage\\1.txt"]
    assert indexes_with_terms(texts) == set()
    assert indexes_with_terms([*texts, "the garage: 7", "/garage: 7"]) == {52, 53}


def test_a_document_in_a_text_is_searched_each_time():
    rows = [{"notes": f'{{"n": {n}, "d\\u006forCode": "4711"}}'} for n in range(5)]
    for _ in range(2):
        assert "4711" not in str(redact(rows)[0])
    assert "4711" not in str(redact(rows[0])[0])


def test_a_document_is_found_beside_plain_texts():
    document = '["door_code","x4711"]'  # without a divider
    for at in (0, 5):
        rows = [{"notes": document if n == at else f"Lane{n}"} for n in range(9)]
        assert "4711" not in str(redact(rows)[0])


@pytest.mark.parametrize("length", [10, AT_ONCE // 3, AT_ONCE + 1])
def test_a_text_is_searched_after_many_others(length: int):
    count = 2 * AT_ONCE // length + 2
    rows = [{"notes": f"Mill Lane {n}".ljust(length)} for n in range(count)] + [{"notes": "the door code is 4711"}]
    assert [*suspects(rows, within="", custom=False).every] == [count]


def test_a_long_text_is_searched_beside_short_ones():
    long = [{"notes": "left of the mill " * 100 + f"{n}: the door code is 4711"} for n in range(5)]
    short = [{"notes": f"Mill Lane {n}, left"} for n in range(5)]
    assert str(redact(long + short)[0]).count("[withheld: door code]") == 5


def test_few_harmless_texts_are_remembered():
    harmless.known.clear()  # other tests may have left some of these texts in a full cache
    few = [f"Mill Lane {n}" for n in range(1000)]
    redact(few)
    assert harmless.known.issuperset(few)
    redact([f"Mill Road {n}".ljust(harmless.SHORT_TEXT) for n in range(3 * harmless.MAX_HARMLESS)])
    assert 0 < len(harmless.known) <= harmless.MAX_HARMLESS


@given(
    st.lists(st.text("ab é門\u00ad0９'’«»´: =>\n\t\u00a0：＝\u3000\u2003\x00{}", max_size=8), min_size=harmless.MANY)
)
def test_no_text_that_may_hold_a_secret_is_left_out(texts: list[str]):
    chosen = harmless._with_divider_and_sign(texts)
    assert all(text in chosen for text in texts if harmless._DIVIDER(text) and harmless._DIGIT_OR_QUOTE(text))


def test_texts_without_digits_and_quotes_are_left_out():
    texts = ["Søndre Land", "Mill Lane", "4711", "7 Mill Lane", "el Born", "Val d'Oise", "Wi-Fi:\u00a0geheim", "門 ７"]
    assert harmless._with_divider_and_sign(texts) == ["7 Mill Lane", "Val d'Oise", "Wi-Fi:\u00a0geheim", "門 ７"]


def test_a_text_in_brackets_is_searched_like_any_other():
    rows = [{"electrons": f"[He] 2s{n}", "note": f"[{n}] the door code is 4711"} for n in range(9)]
    assert [*suspects([{"electrons": each["electrons"]} for each in rows], within="", custom=False).every] == []
    assert "4711" not in str(redact(rows)[0])


def test_only_rows_that_may_hold_something_are_searched():
    at = {"city": "Graz", "lines": ["Mill Lane 1", "b"]}
    plain: list[Any] = [{"id": n, "name": f"Guest {n}", "at": at} for n in range(50)]
    assert [*suspects(plain, within="", custom=False).every] == []
    described = [{**each, "description": "left of the mill", "text": "Mill Lane 1"} for each in plain]
    assert [*suspects(described, within="", custom=False).every] == []
    plain[7] = {**plain[7], "at": {"city": "Graz", "lines": ["the door code is 4711"]}}
    assert [*suspects(plain, within="", custom=False).every] == [7]


def test_only_fields_that_may_hold_something_are_searched(monkeypatch: pytest.MonkeyPatch):
    searched: list[Any] = []
    own = json_values.fields_of
    monkeypatch.setattr(json_values, "fields_of", lambda names, **more: searched.append(names) or own(names, **more))
    details: dict[str, Any] = {f"detail{n}": {"label": f"Detail {n}", "note": "as agreed"} for n in range(50)}
    assert redact(details) == (details, [])
    assert searched == [tuple(details)]
    details["detail7"] = {"label": "the door code is 4711", "note": ""}
    assert redact(details)[1]
    assert searched[2:] == [("label", "note")]


def test_what_is_nested_deeply_is_searched():
    value: Any = "the door code is 4711"
    for _ in range(3000):
        value = [value]
    assert redact([value] * 5)[1]


def test_a_label_may_be_in_an_object_that_says_only_that_it_describes_the_field():
    pair = {"meta": {"label": "Door code"}, "value": "4711"}
    for value in (pair, [pair] * 5):
        assert "4711" not in str(redact(value)[0])


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))
@example({"name": "Door code", "value": 4711})
def test_an_object_in_which_no_name_may_denote_a_secret_has_only_secrets_in_texts(value: dict[str, Any]):
    found = {finding.how for finding in redact(value)[1]}
    assert may_name_secret(value) or found <= {"text"}


def test_the_arguments_of_most_calls_name_no_secret():
    assert not may_name_secret({"guest": "the door code is 4711", "page": 7, "isPaid": None})
    assert may_name_secret({"doorCode": 7})


def test_texts_that_grow_or_shrink_when_composed_hide_no_secret_beside_them():
    others = ["\u1112\u1161\u11ab" * 20 + " 1", "\u0958" * 60 + " 2", "left of the mill " * 6]
    for n, _ in enumerate(others):
        row = {"notes": [f"Cafe\u0301 {n}", *others, f"The door code is 47{n}"]}
        assert str(redact(row)[0]).count("[withheld: door code]") == 1


def test_levels_that_are_too_deep_are_searched_one_by_one():
    def nested(levels: int, leaf: Any) -> Any:
        return leaf if levels == 0 else {"a": nested(levels - 1, leaf), "b": 1}

    assert [*suspects([nested(DEEPEST, {"a": 1})] * 5, within="", custom=False).every] == []
    assert sorted(suspects([1, nested(DEEPEST + 1, {"a": 1}), 1, 1], within="", custom=False).every) == [1]
    deep = [{"a": n} for n in range(5)] + [nested(3 * DEEPEST, {"notes": "the door code is 4711"})]
    assert "4711" not in str(redact(deep)[0])


@pytest.mark.parametrize("count", [1, 20])
def test_values_of_other_types_are_searched_one_by_one(count: int):
    class Words(str):
        __slots__ = ()

    for other in (OrderedDict(doorCode="4711"), Words("the door code is 4711")):
        rows = [{"n": {"a": other}}] * count + [{"n": {"a": 1}}] * 4
        assert str(redact(rows)[0]).count("4711") == 0
