"""No secret of a JSON value is left, wherever it stands, and nothing else is changed."""

import copy
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.redaction import Finding, Visibility, redact
from context_protection.core.redaction.json_values import MOST_PAIRS

CANARY = "canary-4711"


@pytest.mark.parametrize(
    "value",
    [
        {"doorCode": CANARY},
        {"guest": {"access": [{"gate_code": CANARY}]}},
        {"doorCode": [CANARY, {"code": CANARY}]},
        {"name": "Door code", "value": CANARY},
        {"key": "Wi-Fi password", "value": CANARY},
        {"label": "Passwort", "content": CANARY},
        {"title": "WPA2 key", "text": CANARY},
        {"customField": {"id": 1, "name": "Keysafe"}, "value": CANARY},
        {"fieldName": "Entry codes", "answer": CANARY},
        {"attribute": "PIN", "data": [CANARY]},
        {"name": "code_1", "value": CANARY},
        {"code": "ACCESS_TOKEN", "detail": CANARY},
        {"name": "Access token", "value": f"Bearer {CANARY}"},
        {"name": "Wi-Fi password", "value": f"the words {CANARY} and nothing else"},
        {"customFields": {"Code 2": CANARY, "Garage": CANARY}},
        {"customFields": {"Parking gate": CANARY, "Back garden gate": CANARY, "Side door": CANARY}},
        {"pairs": [["Door code", CANARY], ["Beds", "2"]]},
        {"columns": ["guest", "Door code"], "rows": [["Ada", CANARY], ["Bob", CANARY]]},
        {"columns": [{"name": "guest"}, {"name": "Wi-Fi password"}], "data": [["Ada", CANARY]]},
        {"notes": ["Beds are made.", {"text": f"The door code is {CANARY}."}]},
        {"payload": orjson.dumps({"frontDoorCode": CANARY}).decode()},
    ],
    ids=str,
)
def test_a_secret_is_masked_in_every_shape(value: Any):
    before = copy.deepcopy(value)
    redacted, findings = redact(value)
    assert CANARY.encode() not in orjson.dumps(redacted)
    assert b"[withheld: " in orjson.dumps(redacted)
    assert findings
    assert value == before


def test_the_text_of_an_error_about_a_token_is_shown():
    error = {
        "category": "AUTHENTICATION_ERROR",
        "code": "ACCESS_TOKEN_REVOKED",
        "detail": "The access token was revoked.",
    }
    assert redact({"errors": [error]}) == ({"errors": [error]}, [])
    leaking = {
        **error,
        "detail": "The access token is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    }
    assert "eyJhbGci" not in str(redact(leaking)[0])


def test_what_holds_no_secret_is_the_same_object():
    value = {
        "id": 1,
        "hasKeybox": True,
        "doorCode": None,
        "pin": "",
        "note": "Beds for 4.",
        "code": "E1001",
        "tags": ["a"],
    }
    assert redact(value) == (value, [])
    assert redact(value)[0] is value


def test_a_finding_says_where_a_secret_stood():
    _, findings = redact({"doorCode": "4711", "fields": [{"name": "PIN", "value": 4711}], "note": "gate code 4711"})
    assert set(findings) == {
        Finding(("doorCode",), "doorCode", "door code", "field"),
        Finding(("fields", 0, "value"), "PIN", "PIN", "pair"),
        Finding(("note",), "note", "gate code", "text"),
    }


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"gate": "4711, then ring"}, Finding(("gate",), "gate", "gate code", "field")),
        ({"name": "Gate", "value": "4711, then ring"}, Finding(("value",), "Gate", "gate code", "pair")),
        ({"stay": ["Gate", "4711, then ring"]}, Finding(("stay", 1), "Gate", "gate code", "pair")),
        (
            {"columns": ["gate", "beds"], "rows": [["4711, then ring", 2]]},
            Finding(("rows", 0, 0), "gate", "gate code", "pair"),
        ),
    ],
)
def test_only_the_code_of_a_text_under_a_place_is_masked(value: Any, found: Finding):
    redacted, findings = redact(value)
    expected = json.loads(json.dumps(value).replace("4711", "[withheld: gate code]"))
    assert redacted == expected
    assert findings == [found]


@pytest.mark.parametrize("place", [lambda text: {"gate": text}, lambda text: {"name": "Gate", "value": text}])
def test_a_text_that_was_harmless_elsewhere_is_searched_again_under_a_place(place: Any):
    for text in ("use 4711", "press 4712 twice"):
        harmless = [{"note": text}, {"notes": [text]}] * 2
        assert redact(harmless)[0] is harmless
    redacted, found = redact([{"note": "use 4711"}, place("use 4711")])
    assert "4711" not in json.dumps(redacted[1])
    assert redacted[0] == {"note": "use 4711"}
    assert [each.path[0] for each in found] == [1]


def test_each_value_of_very_many_labels_is_redacted():
    count = MOST_PAIRS
    labels = {f"na{'!' * n}me": label for n, label in enumerate(("Gate", "Wi-Fi password", "Sea view") * count)}
    values = {f"va{'!' * n}lue": value for n, value in enumerate(("4711", "sunny", "blue bird") * count)}
    assert set(redact({**labels, **values})[0].values()) == {
        *labels.values(),
        "[withheld: gate code]",
        "[withheld: Wi-Fi password]",
    }
    places = {name: label for name, label in labels.items() if label != "Wi-Fi password"}
    redacted = redact({**places, **values})[0]
    assert set(redacted.values()) == {*places.values(), "[withheld: gate code]", "sunny", "blue bird"}


def test_labels_of_the_policy_are_revealed_and_withheld_among_very_many():
    labels = {f"na{'!' * n}me": label for n, label in enumerate(("Sea view", "Beds") * MOST_PAIRS)}
    value = {**labels, "value": "blue", "wert": "red"}
    assert redact(value)[0] is value
    assert redact(value, Visibility(withheld=frozenset({"Beds"})))[0]["value"] == "[withheld: by policy]"
    gates = dict.fromkeys(labels, "Gate")
    gates["name"] = "Main gate"
    assert redact({**gates, "value": "4711", "wert": "x"})[0]["value"] == "[withheld: gate code]"
    revealed = redact({**gates, "value": "4711", "wert": "x"}, Visibility(reveal=frozenset({"Main gate"})))[0]
    assert revealed["value"] == "4711"


@pytest.mark.parametrize("divider", ["：", "＝", "\u3000", "\u202f", "\u2003", "\u00a0"])
def test_a_divider_of_another_script_is_one(divider: str):
    text = f"PIN{divider}4711"
    rows = [{"note": f"{n}{'x' * n}，{text}"} for n in range(100)]
    for value in (text, {"note": text}, rows, [{**row, "more": f"{n} {text}"} for n, row in enumerate(rows)]):
        assert "4711" not in str(redact(value)[0])


def test_a_long_text_or_a_description_under_a_title_is_searched_and_not_masked_whole():
    longest = {"name": "PIN", "value": "w" * 200}
    assert redact(longest)[0] == {"name": "PIN", "value": "[withheld: PIN]"}
    longer = {"name": "PIN", "value": "w" * 201}
    assert redact(longer)[0] == longer
    described = {"name": "PIN", "description": "of the front door", "value": "4711"}
    assert redact(described)[0] == {**described, "value": "[withheld: PIN]"}


def test_a_pair_without_a_value_is_left_and_its_other_values_are_masked():
    for missing in (None, True, "", [], {}):
        value = {"name": "PIN", "value": missing, "content": "4711"}
        assert redact(value)[0] == {**value, "content": "[withheld: PIN]"}


def test_the_longest_title_is_read_and_a_longer_one_is_a_sentence():
    title = "Door code".ljust(80)
    assert redact([title, "4711"])[0] == [title, "[withheld: door code]"]
    assert redact({"name": title, "value": "4711"})[0] == {"name": title, "value": "[withheld: door code]"}
    assert redact([f"{title} ", "4711"])[1] == []
    assert redact({"name": f"{title} ", "value": "4711"})[1] == []


def test_a_title_with_a_code_is_masked_as_well_as_its_value():
    redacted, findings = redact({"codes": ["Gate code is 4711", "4712"]})
    assert redacted == {"codes": ["Gate code is [withheld: gate code]", "[withheld: gate code]"]}
    assert Finding(("codes", 0), "codes", "gate code", "text") in findings


def test_a_json_list_in_a_text_is_redacted_as_a_list():
    redacted, _ = redact({"payload": f'[{{"doorCode":"{CANARY}"}}]'})
    assert redacted == {"payload": '[{"doorCode":"[withheld: door code]"}]'}


def test_a_schema_is_told_by_its_keys_and_its_types():
    for schema in ({"$ref": "#/Secret"}, {"type": "string"}, {"type": ["string", "null"]}):
        assert redact({"password": schema})[1] == []
    for value in ({"type": "hunter22"}, {"type": []}, {"type": "string", "value": "hunter22"}):
        assert redact({"password": value})[0] == {"password": "[withheld: password]"}


@pytest.mark.parametrize("reveal", ["doorCode", "door_code", "stay.doorCode", "Stay.Door code"])
def test_a_revealed_field_stays(reveal: str):
    value = {"stay": {"doorCode": CANARY}, "PIN": CANARY}
    redacted, _ = redact(value, Visibility(frozenset({reveal})))
    assert redacted == {"stay": {"doorCode": CANARY}, "PIN": "[withheld: PIN]"}


def test_a_pair_is_revealed_by_its_name():
    value = [{"name": "Door code", "value": CANARY}, {"name": "PIN", "value": CANARY}]
    redacted, _ = redact(value, Visibility(frozenset({"doorCode"})))
    assert [each["value"] for each in redacted] == [CANARY, "[withheld: PIN]"]


def test_what_nests_deeply_is_walked():
    value: Any = {"doorCode": CANARY}
    for _ in range(5000):
        value = {"a": [value]}
    redacted, findings = redact(value)
    assert len(findings[0].path) == 10_001
    for _ in range(5000):
        redacted = redacted["a"][0]
    assert redacted == {"doorCode": "[withheld: door code]"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=12) | st.just("The gate code is 4711."),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["a", "note", "name", "value"]), below),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["doorCode", "Wi-Fi password", "PIN", "apiKey", "Türcode", "senha"]), st.integers(0, 3))
def test_a_canary_in_a_secret_field_never_leaves_and_the_input_stays(around: Any, name: str, depth: int):
    value: Any = {"around": around, name: {"deep": [CANARY]}}
    for _ in range(depth):
        value = [value, around]
    before = copy.deepcopy(value)
    redacted, findings = redact(value)
    assert value == before
    assert CANARY not in json.dumps(redacted)
    assert findings
    assert redact(redacted) == (redacted, [])


def test_a_schema_of_several_types_describes_a_secret_and_holds_none():
    value = {"properties": {"password": {"type": ["string", "null"], "minLength": 8}}}
    assert redact(value) == (value, [])
    assert redact({"password": {"type": [CANARY]}})[0] == {"password": "[withheld: password]"}


def test_a_pair_of_two_sentences_keeps_neither_code():
    redacted, _ = redact(["The gate code is 4711.", "The door code is 4712."])
    assert redacted == ["The gate code is [withheld: gate code].", "The door code is [withheld: door code]."]


@pytest.mark.parametrize(
    "value",
    [
        {"smartlockId": 7, "name": "Main", "code": 471147},
        {"locks": [{"name": "Main", "code": "4711#"}]},
        {"ssid": "CasaBlu", "encryption": "psk2", "key": "4711Blume"},
        {"doors": {"front": 1, "codes": ["471147", "471148"]}},
        {"keypad": {"label": "left", "combination": "47-11-47"}},
    ],
)
def test_a_code_of_anything_is_secret_beside_a_lock(value: Any):
    assert "4711" not in str(redact(value)[0])


@pytest.mark.parametrize(
    "value",
    [
        {"country": "Malta", "code": "MT4711"},
        {"ssid": "CasaBlu", "channel": {"code": "EU-4711"}},
        {"locks": [{"name": "Main", "code": "ok"}]},
        {"door": {"color": "RAL7016", "id": 4711}},
        {"garage": True, "code": "HOME4711"},
        {"Next door": CANARY},
        {"Garage doors": "2"},
        {"customFields": {"Gate opening hours": "0800-1700", "Colour of the gate": "RAL7016"}},
    ],
)
def test_a_code_of_anything_else_stays(value: Any):
    assert redact(value) == (value, [])


@pytest.mark.parametrize(
    "cell", [{"doorCode": CANARY}, [CANARY, {"PIN": CANARY}], "Door code: 4711, the dog is called canary-4711"], ids=str
)
@pytest.mark.parametrize("others", [[], ["4711"], ["a", "b"]], ids=str)
def test_a_cell_in_a_secret_column_is_masked_whole(cell: Any, others: list[str]):
    redacted, _ = redact({"columns": ["Password"], "rows": [[cell, *others]]})
    assert redacted["rows"][0][0] == "[withheld: password]"


@pytest.mark.parametrize(
    "value",
    [
        {"entry": {"codes": ["4711#"]}},
        {"entry": {"codes": [{"id": 1, "digits": "4711"}]}},
        {"door": {"code": "4711"}},
        {"house": {"entry": {"codes": ["4711", "main"]}}},
        {"house": {"entry": [{"code": 4711}, {"code": "main"}]}},
        {"entry": {"main": {"code": "4711"}}},
        {"door": {"codes": {"front": "4711", "back": "4712"}}},
        {"doors": {"101": {"code": "4711"}}},
        {"access": {"data": [[{"code": "4711"}]]}},
        {"access": {"instructions": "The key lies under stone 4711."}},
        {"wifi": {"key": "sunflower-4711"}},
        {"wifi": {"keys": ["sunflower 4711"]}},
        {"network": {"guest": {"password": "4711"}}},
        {"api": {"key": "ab-4711"}},
        {"gate": {"value": 4711}},
        {"gate": {"value": "4711#"}},
        {"garage": {"values": ["4711"]}},
        {"keypad": {"number": "4711"}},
        {"cleaner": {"code": "4711"}},
        {"puerta": {"codigo": "4711"}},
        {"Haustür": {"Code": "4711"}},
        {"wlan": {"schluessel": "4711 Blumen"}},
    ],
    ids=str,
)
def test_a_field_is_secret_by_its_name_and_that_of_its_object(value: Any):
    assert "4711" not in str(redact(value)[0])


@pytest.mark.parametrize(
    "value",
    [
        {"country": {"code": "DE"}},
        {"currency": {"code": "EUR1"}},
        {"error": {"code": 4711}},
        {"promo": {"code": "SUMMER26"}},
        {"booking": {"entry": {"key": "row-7"}}},
        {"entry": {"code": "main"}},
        {"entries": [{"code": "A1000"}]},
        {"entry": {"number": 4711, "value": 4711}},
        {"property": {"code": "LX-4711"}},
        {"building": {"code": "B4711"}},
        {"apartment": {"code": "A4711"}},
        {"user": {"code": "U4711"}},
        {"guest": {"code": "G-4711"}},
        {"account": {"key": "acc-4711"}},
        {"storage": {"key": "s3-4711"}},
        {"door": {"number": 4711, "floor": {"code": "F4711"}}},
        {"door": {"keys": 2, "count": 4711}},
        {"garage": {"value": 1500, "currency": "EUR"}},
        {"gate": {"name": "Width", "value": 1200}},
        {"gate": {"value": 12}},
        {"wifi": {"speed": {"value": 300}}},
        {"listing": {"value": 4711, "code": "L4711"}},
        {"hasDoor": {"code": "ok-4711"}},
        {"door": {"code": None, "codes": []}},
    ],
    ids=str,
)
def test_a_field_of_another_object_stays(value: Any):
    assert redact(value) == (value, [])


def test_a_path_reveals_what_it_leads_to_from_the_top_and_nothing_elsewhere():
    value = {"stay": {"doorCode": CANARY}, "next": {"stay": {"doorCode": CANARY}}, "doorCode": CANARY}
    redacted, _ = redact(value, Visibility(frozenset({"stay.doorCode"})))
    masked = "[withheld: door code]"
    assert redacted == {"stay": {"doorCode": CANARY}, "next": {"stay": {"doorCode": masked}}, "doorCode": masked}


def test_a_list_of_label_and_value_is_revealed_by_its_label():
    value = {"pairs": [["Door code", CANARY], ["PIN", CANARY]]}
    redacted, _ = redact(value, Visibility(frozenset({"Door code"})))
    assert redacted == {"pairs": [["Door code", CANARY], ["PIN", "[withheld: PIN]"]]}


def test_json_in_a_text_is_revealed_as_what_is_not_in_one():
    told = f'{{"doorCode":"{CANARY}","PIN":"{CANARY}"}}'
    redacted, _ = redact({"payload": told}, Visibility(frozenset({"doorCode"})))
    assert redacted == {"payload": f'{{"doorCode":"{CANARY}","PIN":"[withheld: PIN]"}}'}


def test_a_column_is_revealed_by_its_name():
    value = {"columns": ["guest", "Door code", "PIN"], "rows": [["Ada", CANARY, CANARY]]}
    redacted, _ = redact(value, Visibility(frozenset({"doorCode"})))
    assert redacted["rows"] == [["Ada", CANARY, "[withheld: PIN]"]]


def test_a_nested_secret_is_revealed_by_its_path():
    value = {"units": [{"entry": {"codes": ["4711"]}, "wifi": {"key": "sunflower"}}]}
    redacted, _ = redact(value, Visibility(frozenset({"units.entry.codes"})))
    assert redacted == {"units": [{"entry": {"codes": ["4711"]}, "wifi": {"key": "[withheld: Wi-Fi password]"}}]}


def test_cells_of_secret_columns_are_masked_in_rows_of_any_length():
    value = {
        "columns": ["guest", "Door code", "", "Garage", "Note"],
        "rows": [
            ["Ada"],
            "no row",
            ["Bob", "4711"],
            None,
            ["Eve", "", "8150", "2468", "The safe opens with 9021."],
            ["Joe", True, 5, 1357, 7],
        ],
    }
    redacted, findings = redact(value)
    assert redacted["rows"] == [
        ["Ada"],
        "no row",
        ["Bob", "[withheld: door code]"],
        None,
        ["Eve", "", "8150", "[withheld: garage code]", "The safe opens with [withheld: safe code]."],
        ["Joe", True, 5, "[withheld: garage code]", 7],
    ]
    assert {(each.path, each.kind, each.how) for each in findings} == {
        (("rows", 2, 1), "door code", "pair"),
        (("rows", 4, 3), "garage code", "pair"),
        (("rows", 5, 3), "garage code", "pair"),
        (("rows", 4, 4), "safe code", "text"),
    }
    assert {each.name for each in findings if each.how == "pair"} == {"Door code", "Garage"}


def test_the_path_decides_which_column_is_revealed():
    table = {"columns": ["PIN"], "rows": [["4711"]]}
    redacted, _ = redact({"home": table, "office": table}, Visibility(frozenset({"home.PIN"})))
    assert redacted["home"]["rows"] == [["4711"]]
    assert redacted["office"]["rows"] == [["[withheld: PIN]"]]
