"""What a configuration file sets, and what is said about one that is invalid (FR-025, FR-027, FR-028)."""

import json

import pytest

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import EVERYTHING, BudgetScope
from context_protection.core.setting import Setting
from context_protection.layers.file.documents import MOST_BYTES, InvalidDocument, parsed
from context_protection.layers.file.layer import FileLayer, layer_of
from context_protection.layers.file.profiles import PROFILES
from context_protection.layers.file.text import written

WHOLE = """
profiles: [bookings]
global:
  hardCap: 9000
  chunking: off
connectors:
  nsip:
    cacheSeconds: 600
operations:
  list_*:
    listFormat: auto
  get_booking:
    summaryFields: id, status
callers:
  desk:
    global: {timeoutSeconds: 5}
    connectors: {hostaway: {maxPageSize: 150}}
    operations: {get_booking: {tokenBudgetThreshold: 3000}}
"""


def read(text: str, ending: str = ".yaml") -> FileLayer:
    layer, problems = layer_of(parsed(text.encode(), ending))
    assert problems == []
    return layer


def sentences(text: str) -> list[str]:
    try:
        return list(map(str, layer_of(parsed(text.encode(), ".yaml"))[1]))
    except InvalidDocument as error:
        return [str(error)]


def test_a_file_sets_values_for_every_scope():
    assert read(WHOLE).values == {
        EVERYTHING: {"hard_cap": 9000, "chunking": False},
        BudgetScope(connector="nsip"): {"cache_seconds": 600},
        BudgetScope("list_*"): {"list_format": "auto"},
        BudgetScope("get_booking"): {"summary_fields": "id, status"},
        BudgetScope(caller="desk"): {"timeout_seconds": 5},
        BudgetScope(connector="hostaway", caller="desk"): {"max_page_size": 150},
        BudgetScope("get_booking", caller="desk"): {"token_budget_threshold": 3000},
        BudgetScope("list_bookings"): {"default_page_size": 100},
    }


def test_each_value_has_its_line():
    lines = read(WHOLE).lines
    assert lines[EVERYTHING, "hard_cap"] == 4
    assert lines[BudgetScope("get_booking"), "summary_fields"] == 13
    assert lines[BudgetScope("list_bookings"), "default_page_size"] == 2, "the line that names the profile"


def test_json_gives_the_same_layer_as_yaml_with_lines():
    document = {"global": {"hardCap": 9000}, "operations": {"list_*": {"chunking": True, "defaultPageSize": 7}}}
    as_json = read(json.dumps(document, indent="\t"), ".json")
    as_yaml = read("global: {hardCap: 9000}\noperations:\n  list_*: {chunking: on, defaultPageSize: 7}\n")
    assert as_json.values == as_yaml.values
    assert as_json.lines[BudgetScope("list_*"), "default_page_size"] == 8


@pytest.mark.parametrize(("name", "setting"), [(name, each) for each in SETTINGS.values() for name in each.spellings])
def test_every_spelling_of_a_setting_means_the_setting(name: str, setting: Setting):
    value = json.dumps(setting.default)
    if setting.whole_connectors_only:
        part, scope = "connectors:\n  nsip", BudgetScope(connector="nsip")
    else:
        part, scope = "operations:\n  get_booking", BudgetScope("get_booking")
    assert read(f'{part}:\n    "{name}": {value}\n').values == {scope: {setting.name: setting.default}}


def test_a_document_may_stand_below_the_name_of_the_product_part():
    assert read("context_protection:\n  global: {hard_cap: 9000}\n").values == {EVERYTHING: {"hard_cap": 9000}}


def test_a_file_wins_over_a_profile_of_the_same_scope():
    text = "profiles: [softLanding, finance]\nglobal: {defaultPageSize: 30}\n"
    assert read(text).values == {
        EVERYTHING: {"default_page_size": 30},
        BudgetScope("list_transactions"): {"default_page_size": 75},
    }


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_can_be_named(name: str):
    assert read(f"profiles: {name}\n").values == PROFILES[name]


@pytest.mark.parametrize("name", ["007", "no", "1.10", "0x1F", "null", "~", "2026-11-20", "12:30", "1_0", "=", "on"])
def test_a_name_is_the_text_that_is_written(name: str):
    values = {BudgetScope(caller=name): {"hard_cap": 9000}}
    assert read(f"callers: {{{name}: {{global: {{hardCap: 9000}}}}}}\n").values == values
    assert read(written(values, ".yaml")).values == values
    assert read(written(values, ".json"), ".json").values == values


@pytest.mark.parametrize("is_ascii", [True, False])
@pytest.mark.parametrize("name", ["team 🚀", "café", "a\u2028b", "a\\🚀", "\\ud83d\\ude80", 'a"b/c'])
def test_a_name_in_json_may_have_any_character(name: str, is_ascii: bool):
    text = json.dumps({"callers": {name: {"global": {"hardCap": 9000}}}}, ensure_ascii=is_ascii, indent=1)
    layer = read(text, ".json")
    assert layer.values == {BudgetScope(caller=name): {"hard_cap": 9000}}
    assert layer.lines == {(BudgetScope(caller=name), "hard_cap"): 5}


@pytest.mark.parametrize("number", ["9e3", "9000.0", "90.0e+2"])
def test_a_whole_number_may_be_written_as_a_fraction(number: str):
    values = {EVERYTHING: {"hard_cap": 9000}}
    layer = read(f'{{"global": {{"hardCap": {number}}}}}', ".json")
    assert layer.values == values
    assert type(layer.values[EVERYTHING]["hard_cap"]) is int
    if number != "9e3":  # a text in YAML
        assert read(f"global: {{hardCap: {number}}}\n").values == values


def test_a_fraction_in_json_is_not_a_whole_number():
    _, (problem,) = layer_of(parsed(b'{"global": {"hardCap": 9.0005e3}}', ".json"))
    assert "hardCap is 9000.5; it must be a whole number" in problem.sentence


@pytest.mark.parametrize("text", ["{}\n", "global:\n", "profiles:\n", "operations:\n  get_booking:\n"])
def test_a_file_may_set_nothing(text: str):
    assert not any(read(text).values.values())


INVALID = {
    # Values
    "global: {hardCap: many}\n": "line 1: global: hardCap is 'many'; it must be a whole number from 1,000 to 25,000.",
    "global:\n  hardCap: 999\n": "line 2: global: hardCap is 999; it must be from 1,000 to 25,000.",
    "global: {hardCap: 9000.5}\n": "hardCap is 9000.5; it must be a whole number",
    "global: {hardCap: true}\n": "hardCap is True; it must be a whole number",
    "global: {hardCap: }\n": "hardCap is None; it must be a whole number",
    "global: {hardCap: [9000]}\n": "hardCap is [9000]; it must be a whole number",
    "global: {hardCap: {value: 9000}}\n": "hardCap is {'value': 9000}; it must be a whole number",
    "global: {hardCap: '9000'}\n": "hardCap is '9000'; it must be a whole number",
    "global: {hardCap: 12:00}\n": "hardCap is '12:00'; it must be a whole number",
    "global: {hardCap: 1e4}\n": "hardCap is '1e4'; it must be a whole number",
    "global: {hardCap: .inf}\n": "hardCap is inf; it must be a whole number",
    "global: {hardCap: 999.0}\n": "hardCap is 999; it must be from",
    "global: {hardCap: -9000}\n": "hardCap is -9,000; it must be from",
    f"global: {{hardCap: {'9' * 5000}}}\n": "line 1: global.hardCap has a number that cannot be read.",
    f"global: {{listFormat: {'x' * 5000}}}\n": "must be one of: items, table, auto",
    "global: {chunking: maybe}\n": "chunking is 'maybe'; it must be true or false.",
    "global: {listFormat: csv}\n": "listFormat is 'csv'; it must be one of: items, table, auto.",
    "operations: {get_booking: {summaryFields: [id]}}\n": "summaryFields is ['id']; it must be a text.",
    "global: {summaryFields: id}\n": "global.summaryFields: each operation needs its own value. Set it for",
    "operations: {get_*: {summaryFields: id}}\n": "operations.get_*.summaryFields: each operation needs its own value.",
    "operations: {get_booking: {withheldFields: phone}}\n": "operations.get_booking.withheldFields: one query can join",
    "operations: {get_*: {withheldFields: phone}}\n": "Set it for all of them or for a connector.",
    "global: {withheldFields: 'phone, a..b'}\n": "withheldFields has the name 'a..b', which no field can have.",
    "callers: {desk: {global: {withheldFields: 'phone,*'}}}\n": "withheldFields has the name '*', which no",
    "connectors: {nsip: {withheldFields: [phone]}}\n": "withheldFields is ['phone']; it must be a text such as",
    # Keys
    "global:\n  hardCaps: 9000\n": "line 2: global.hardCaps: there is no setting 'hardCaps'. Did you mean hardCap?",
    "globl: {}\n": "line 1: globl: there is no key 'globl'. Did you mean global?",
    "hardCap: 9000\n": "hardCap: there is no key 'hardCap'. Known: profiles, global, connectors, operations, callers.",
    "callers:\n  desk: {hardCap: 9000}\n": "line 2: callers.desk.hardCap: there is no key 'hardCap'.",
    "callers: {desk: {callers: {}}}\n": "callers.desk.callers: there is no key 'callers'.",
    "profiles: [booking]\n": "profiles: there is no profile 'booking'. Did you mean bookings?",
    "profiles: {bookings: 1}\n": "profiles: there is no profile",
    "global: {hardCap: 9000, hardCap: 9001}\n": "global.hardCap occurs twice; first in line 1.",
    "global:\n  hardCap: 9000\n  hard_cap: 9000\n": "line 3: global.hard_cap repeats the setting in line 2 in another",
    "operations:\n  '': {hardCap: 9000}\n": "line 2: operations: the name '' must have 1 to 100 characters",
    f"operations:\n  {'x' * 101}: {{}}\n": "must have 1 to 100 characters",
    "contextProtection: {}\nglobal: {}\n": "line 1: contextProtection: it must hold all settings if it is there. Move "
    "the other names into it, or remove it.",
    "<<: {global: {}}\n": "<<: there is no key '<<'.",
    # Forms
    "global: [hardCap]\n": "line 1: global must be an object of names and values; it is a list.",
    "operations: 5\n": "operations must be an object of names and values; it is 5.",
    "- global\n": "line 1: The file must be an object of names and values; it is a list.",
    "hello\n": "The file must be an object of names and values; it is 'hello'.",
    "~\n": "The file must be an object of names and values; it is empty.",
    "? [a]\n: 1\n": "line 1: A name must be a text.",
    # Syntax
    "global: {hardCap: 9000\n": "line 2: This is not YAML",
    "global:\n  hardCap: 9000\n chunking: on\n": "line 3: This is not YAML",
    "global: 'x\n": "This is not YAML",
    "\tglobal: {}\n": "line 1: This is not YAML",
    "global: {}\n---\nglobal: {}\n": "line 2: The file must have one document.",
    # What grows, runs or hides
    "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n": "line 1: Anchors (&) and aliases (*) are not allowed.",
    "global: {hardCap: *cap}\n": "line 1: Anchors (&) and aliases (*) are not allowed.",
    "global: !!python/object/apply:os.system [id]\n": "line 1: The tag tag:yaml.org,2002:python/object/apply:os",
    "global: !!binary aGVsbG8=\n": "The tag tag:yaml.org,2002:binary is not allowed.",
    "global: " + "[" * 50 + "]" * 50 + "\n": "nested more than 8 levels deep",
    "global: " + "[" * 100_000 + "\n": "nested more than 8 levels deep",
    "global: [" + "1," * 20_001 + "]\n": "The file has more than 20,000 values.",
    "operations:\n" + "".join(f"  tool_{n}: {{hardCap: 9000}}\n" for n in range(501)): "for 501 scopes; at most 500.",
    # Half-written
    "": "The file is empty: it may be half-written.",
    "\n\n": "The file is empty: it may be half-written.",
    "# nothing\n": "The file has no values.",
    "global:\n  hardCap: 90": "line 2: The last line does not end: the file may be half-written.",
    "global:\n  hard\n": "global must be an object of names and values; it is 'hard'.",
}


@pytest.mark.parametrize(("text", "words"), INVALID.items(), ids=[text[:40] for text in INVALID])
def test_an_invalid_file_is_explained_by_key_and_line(text: str, words: str):
    found = sentences(text)
    assert len(found) == 1, found
    assert words in found[0]
    assert len(found[0]) < 300


def test_all_problems_are_found_at_once_in_the_order_of_their_lines():
    text = "extra: 1\nglobal:\n  hardCap: 1\n  x: 2\noperations: 3\n"
    assert [each.partition(":")[0] for each in sentences(text)] == ["line 1", "line 3", "line 4", "line 5"]


@pytest.mark.parametrize(
    ("content", "ending", "words"),
    [
        (b"\xff\xfeg\x00l\x00", ".yaml", "line 1: The file is not UTF-8 text."),
        (b"global: {}\n\x89PNG\r\n\x1a\n", ".yaml", "line 2: The file is not UTF-8 text."),
        (b"global: {}\n\0\0\n", ".yaml", "line 2: The file is binary, not text."),
        (b"global: {}\n\x07\n", ".yaml", "line 2: The character '\\x07' is not allowed."),
        ("# é é é é\nglobal: {} # \x07\n\n".encode(), ".yaml", "line 2: The character '\\x07' is not allowed."),
        (b"#" * (MOST_BYTES + 1), ".yaml", "The file has more than 1,024 KB."),
        (b'{"global": {"hardCap": 9000}', ".json", "line 1: This is not JSON: expecting ',' delimiter."),
        (b'{"global": {},\n "global": {}}', ".json", "line 2: global occurs twice"),
        (b"{" * 100_000, ".json", "This is not JSON"),
        (b"[" * 100_000, ".json", "nested too deeply"),
        (b'{"global": {"hardCap": NaN}}', ".json", ""),
        (b"global: {}\n", ".toml", "The name must end in .yaml, .yml, .json; it ends in .toml."),
        (b"global: {}\n", "", "it ends in nothing"),
    ],
)
def test_a_file_that_is_no_document_is_explained(content: bytes, ending: str, words: str):
    try:
        problems = layer_of(parsed(content, ending))[1]
    except InvalidDocument as error:
        problems = [error.problem]
    assert words in str(problems[0])


def test_a_byte_order_mark_is_accepted():
    assert layer_of(parsed(b"\xef\xbb\xbfglobal: {}\n", ".yaml")) == (FileLayer({}, {}), [])
