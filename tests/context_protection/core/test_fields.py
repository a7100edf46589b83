"""Fields that are read together have the values that each reads by itself."""

from collections.abc import Mapping
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from context_protection.core.fields import Field, FieldReader
from context_protection.core.projection import resolves


class FirstOfTwo(Field):
    """A field that reads another path, too."""

    def read(self, record: Mapping[str, Any]) -> Any:
        return record.get("b", super().read(record))


STEPS = st.sampled_from(["a", "b", "*"])
PATHS = st.lists(STEPS, min_size=1, max_size=3).map(".".join)
RECORDS = st.dictionaries(
    STEPS,
    st.recursive(
        st.none() | st.integers(0, 9),
        lambda below: st.lists(below, max_size=2) | st.dictionaries(STEPS, below, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)


@st.composite
def fields(draw: st.DrawFn) -> dict[str, Field]:
    kinds = st.sampled_from([Field, FirstOfTwo])
    made = [
        draw(kinds)(f"name{n}", path, draw(st.sampled_from([None, str])))
        for n, path in enumerate(draw(st.lists(PATHS, max_size=5)))
    ]
    return {each.name: each for each in made}


@given(fields(), RECORDS)
@example({"x": Field("x", "a.b")}, {"a": {"b": None}})
@example({"x": Field("x", "a", str), "y": FirstOfTwo("y", "a")}, {"a": 1, "b": 2})
@example({"x": Field("x", "a.b")}, {"a": None})
@example({"x": Field("x", "a.*")}, {"a": [1]})
def test_fields_that_are_read_together_have_the_values_of_each(fields: dict[str, Field], record: dict[str, Any]):
    reader = FieldReader(fields)
    values = reader.values(record)
    assert values == {name: each.read(record) for name, each in fields.items()}
    assert list(values) == list(fields), "in their order"
    rows = [record, {}, record]
    assert reader.columns(rows) == [[each.read(row) for row in rows] for each in fields.values()]
    absent = [each.source for each in fields.values() if not resolves(record, each.source)]
    assert reader.missing(record, [name for name, value in values.items() if value is not None]) == absent
    assert reader.missing(record, ()) == absent
