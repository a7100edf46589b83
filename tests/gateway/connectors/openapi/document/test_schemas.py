"""Schemas of arguments are lean, and arguments can be checked by every one of them."""

import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.connectors.openapi.document import kinds, schemas
from gateway.connectors.openapi.document.references import References
from gateway.connectors.openapi.document.schemas import Leaning

SECONDS = 3  # of processor time: some hundredths on a quiet machine
NAMES = ("A", "B", "C", "D")


def lean(schema: Any, depth: int = 4, **definitions: Any) -> dict[str, Any]:
    made = Leaning(References({"components": {"schemas": definitions}}), sent=True).lean(schema, depth)
    jsonschema_rs.validator_for(made)
    return made


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 0}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "exclusiveMinimum": 0}),
        ({"type": "integer", "format": "int64", "maximum": 2**63 - 1}, {"type": "integer"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "uuid", "example": "x", "title": "Id", "x-a": 1}, {"type": "string"}),
        ({"type": "string", "pattern": "^a+$"}, {"type": "string", "pattern": "^a+$"}),
        ({"type": "string", "pattern": "(?=a)b"}, {"type": "string"}),
        ({"type": "string", "pattern": "["}, {"type": "string"}),
        ({"type": "file"}, {"type": "string"}),
        ({"type": "Integer"}, {"type": "integer"}),
        ({"type": "any"}, {}),
        ({"type": 7}, {}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "integer", "enum": ["1", "2"]}, {"type": "string", "enum": ["1", "2"]}),
        ({"type": "boolean", "enum": [1, "x"]}, {"enum": [1, "x"]}),
        ({"type": "integer", "default": 3}, {"type": "integer", "default": 3}),
        ({"type": "integer", "default": "3"}, {"type": "integer"}),
        ({"type": "string", "minLength": "many", "maxLength": -1}, {"type": "string"}),
        ({"items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "object", "additionalProperties": {"type": "string"}},
         {"type": "object", "additionalProperties": {"type": "string"}}),
        (True, {}),
        (None, {}),
        ({"not": {}}, {}),
    ],
)  # fmt: skip
def test_a_schema_says_what_it_means_and_no_more(given, expected):
    assert lean(given) == expected


def test_descriptions_are_one_sentence():
    told = lean({"type": "string", "description": "The **name** of it. It is long. " * 20})
    assert told["description"] == "The name of it."
    assert len(lean({"type": "string", "description": "word " * 100})["description"]) <= 120


def test_an_enumeration_of_many_values_is_told_in_words():
    told = lean({"type": "string", "enum": [f"v{n}" for n in range(100)]})
    assert "enum" not in told
    assert told["description"].startswith("100 values: v0, v1, ")
    assert len(lean({"type": "string", "enum": [f"v{n}" for n in range(60)]})["enum"]) == 60


def test_parts_of_all_of_are_one_schema():
    base = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    own = {"required": ["b"], "properties": {"b": {"type": "integer"}}}
    assert lean({"allOf": [ref("Base"), own], "description": "Both."}, Base=base) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "description": "Both.",
    }


def test_what_stands_beside_a_reference_counts():
    assert lean({**ref("A"), "description": "Own.", "nullable": True}, A={"type": "string", "description": "Its."}) == {
        "type": ["string", "null"],
        "description": "Own.",
    }


def test_few_variants_are_kept_and_many_become_a_type():
    each = [{"type": "string"}, {"type": "integer"}, {"type": "object", "properties": {"a": {"type": "string"}}}]
    assert len(lean({"oneOf": each})["anyOf"]) == 3
    assert lean({"oneOf": [*each, {"type": "boolean"}]}) == {"type": ["string", "integer", "object", "boolean"]}


def test_variants_of_one_kind_are_one():
    assert lean({"anyOf": [{"type": "string"}, {"type": "null"}]}) == {"type": ["string", "null"]}
    assert lean({"anyOf": [{"type": "string", "format": "uuid"}, {"type": "string"}]}) == {"type": "string"}
    assert lean({"oneOf": [{"const": "a"}, {"const": "b"}]}) == {"type": "string", "enum": ["a", "b"]}


def test_variants_that_only_say_what_goes_together_are_left_out():
    properties = {"a": {"type": "string"}, "b": {"type": "string"}}
    given = {"type": "object", "properties": properties, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert lean(given) == {"type": "object", "properties": properties}


def test_what_only_answers_have_is_not_sent():
    given = {
        "type": "object",
        "properties": {"id": {"type": "string", "readOnly": True}, "a": {}},
        "required": ["id", "a"],
    }
    assert lean(given) == {"type": "object", "properties": {"a": {}}, "required": ["a"]}


def test_what_leads_back_to_itself_is_cut_there():
    node = {"type": "object", "properties": {"next": ref("Node"), "all": {"type": "array", "items": ref("Node")}}}
    assert lean(ref("Node"), Node=node) == {
        "type": "object",
        "properties": {"next": {"type": "object"}, "all": {"type": "array", "items": {"type": "object"}}},
    }


def test_deep_objects_are_cut_where_the_levels_end():
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(10):
        deep = {"type": "object", "properties": {"a": deep}}
    assert str(lean(deep)).count("properties") == 4


@pytest.mark.parametrize("kind", [None, "string", "object", "array"])
@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf", "items", "properties", "additionalProperties"])
def test_nesting_without_end_is_no_matter(key, kind):
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(2000):
        below = {"a": deep} if key == "properties" else [deep] if key in {"anyOf", "oneOf", "allOf"} else deep
        deep = {**({"type": kind} if kind else {}), key: below}
    leaning = Leaning(References({}), sent=True)
    leaning.lean(deep, 4)
    assert leaning.size(deep, 4) < 1000


def test_variants_that_refer_to_each_other_take_no_time():
    names = [f"V{n}" for n in range(30)]
    definitions = {name: {"allOf": [ref("Base")], "properties": {name: {"type": "string"}}} for name in names}
    definitions["Base"] = {"type": "object", "oneOf": [ref(name) for name in names]}
    begun = time.process_time()
    assert set(lean(ref("Base"), **definitions)["properties"]) == set(names)
    assert time.process_time() - begun < SECONDS


@pytest.mark.parametrize("kind", ["string", "array"])
def test_variants_of_variants_do_not_multiply(kind):
    """Each of thirty is any of the three that follow it: ways through them are more than a billion."""
    definitions = {
        f"V{n}": {"type": kind, "description": f"{n}", "anyOf": [ref(f"V{(n + step) % 30}") for step in (1, 2, 3)]}
        for n in range(30)
    }
    begun = time.process_time()
    made = lean(ref("V0"), **definitions)
    assert time.process_time() - begun < SECONDS
    assert len(made["anyOf"]) == 3
    assert len(str(made)) < 2000


def test_a_size_is_never_less_than_what_is_made():
    definitions = {
        "A": {"type": "object", "properties": {"b": ref("B"), "c": {"type": "array", "items": ref("B")}}},
        "B": {
            "type": "object",
            "properties": {"x": {"anyOf": [ref("C"), {"type": "string"}]}, "y": {"type": "string"}},
        },
        "C": {"type": "object", "additionalProperties": {"type": "object", "properties": {"z": {"type": "integer"}}}},
    }
    references = References({"components": {"schemas": definitions}})
    leaning = Leaning(references, sent=True)
    for depth in range(5):
        assert leaning.size(ref("A"), depth) >= str(leaning.lean(ref("A"), depth)).count("'type'") - 1


def test_answers_keep_what_only_they_have_and_lose_their_words():
    given = {"type": "object", "properties": {"id": {"type": "string", "readOnly": True, "description": "Its id."},
                                              "secret": {"type": "string", "writeOnly": True}}}  # fmt: skip
    made = Leaning(References({}), sent=False).lean(given, 3)
    assert made == {"type": "object", "properties": {"id": {"type": "string"}}}


def test_what_two_places_share_is_made_as_deep_as_each_may_be():
    definitions = {
        "A": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "string"}}}}}
    }
    leaning = Leaning(References({"components": {"schemas": definitions}}), sent=False)
    assert "'c'" not in str(leaning.lean(ref("A"), 1))
    assert "'c'" in str(leaning.lean(ref("A"), 2))


def test_choices_of_one_value_and_its_twin_of_another_type_stay_apart():
    assert kinds.choices({"enum": [1, True, "1", 1]}) == [1, True, "1"]
    assert schemas.is_valid({"enum": [1]}, 1)


def test_a_variant_of_variants_is_told_whole_where_it_stands_alone():
    own = [{"type": "string", "maxLength": 1}, {"type": "string", "pattern": "^a+$"}]
    definitions = {
        "A": {"type": "string", "anyOf": [ref("B"), {"type": "string", "minLength": 2}]},
        "B": {"type": "string", "anyOf": [ref("C"), {"type": "string", "minLength": 3}]},
        "C": {"type": "string", "anyOf": own},
    }
    leaning = Leaning(References({"components": {"schemas": definitions}}), sent=True)
    assert leaning.lean(ref("A"), 2)["anyOf"][0]["anyOf"][0] == {"type": "string"}
    assert leaning.size(ref("A"), 2) == 5
    assert leaning.lean(ref("B"), 2)["anyOf"][0] == {"anyOf": own}
    assert leaning.size(ref("B"), 2) == 5


def test_what_was_cut_within_itself_is_whole_elsewhere():
    definitions = {
        "A": {"type": "object", "properties": {"b": ref("B")}},
        "B": {"type": "object", "properties": {"a": {"type": "object", "properties": {"x": ref("A")}}}},
        "D": {"type": "object", "properties": {"b": ref("B")}},
    }
    leaning = Leaning(References({"components": {"schemas": definitions}}), sent=True)
    assert "x" in str(leaning.lean(ref("A"), 4))
    assert leaning.lean(ref("D"), 4) == lean(ref("D"), 4, **definitions)


# -- Any schemas, which refer to each other in any way ----------------------------------------------

LEAVES = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "description": "A number."}, {"enum": ["a", "b"]}, {}]
)
REFERENCES = st.sampled_from(NAMES).map(ref)
SCHEMAS = st.recursive(
    LEAVES | REFERENCES,
    lambda below: (
        st.builds(
            lambda key, parts, kind: {**kind, key: parts},
            st.sampled_from(["allOf", "anyOf", "oneOf"]),
            st.lists(below, min_size=1, max_size=4),
            st.sampled_from([{}, {"type": "string"}, {"type": "array"}, {"type": "object"}]),
        )
        | st.dictionaries(st.sampled_from(["a", "b"]), below, min_size=1).map(
            lambda each: {"type": "object", "properties": each, "required": ["a"]}
        )
        | below.map(lambda each: {"type": "array", "items": each})
        | below.map(lambda each: {"type": "object", "additionalProperties": each})
    ),
    max_leaves=6,
)
DEFINITIONS = st.fixed_dictionaries(dict.fromkeys(NAMES, SCHEMAS))


@given(DEFINITIONS)
def test_no_circle_keeps_a_schema_from_being_made_and_as_many_parts_as_were_counted(definitions: dict[str, Any]):
    for sent in (True, False):
        leaning = Leaning(References({"components": {"schemas": definitions}}), sent=sent)
        for name in NAMES:
            for depth in (0, 1, 3):
                made = leaning.lean(ref(name), depth)
                jsonschema_rs.validator_for(made)
                assert parts_of(made) <= leaning.size(ref(name), depth)


@given(DEFINITIONS, st.permutations([(name, depth) for name in NAMES for depth in (0, 1, 2)]))
def test_an_argument_is_the_same_whatever_was_made_before_it(definitions: dict[str, Any], order: list[tuple[str, int]]):
    references = References({"components": {"schemas": definitions}})
    one = Leaning(references, sent=True)
    for name, depth in order:
        alone = Leaning(references, sent=True)
        assert one.lean(ref(name), depth) == alone.lean(ref(name), depth)
        assert one.size(ref(name), depth) == alone.size(ref(name), depth)


def parts_of(made: dict[str, Any]) -> int:
    """Itself, and the schemas that it has: not a null beside variants, nor items of which only the type is told."""
    below = [
        *made.get("properties", {}).values(),
        *(each for each in made.get("anyOf", ()) if each != {"type": "null"}),
    ]
    below += [each for key in ("items", "additionalProperties") if isinstance(each := made.get(key), dict)]
    below = [each for each in below if each.keys() - {"type"} or each is not made.get("items")]
    return 1 + sum(map(parts_of, below))
