"""Name/value pairs: the shapes in which APIs return fields whose names are data.

{"name": "Door code", "value": "4711"}            {"customField": {"name": "Door code"}, "value": "4711"}
{"fieldName": "Door code", "answer": "4711"}      ["Door code", "4711"]
{"columns": ["guest", "Door code"], "rows": [["Ada", "4711"]]}
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from context_protection.core.name_words import word_set
from context_protection.core.redaction.folding import compact

_LABELS = word_set(
    """
    name key label title field fieldname fieldlabel attribute attributename varname variable property propertyname
    question caption heading header displayname customfield customfieldname term prompt parameter paramname param
    slug code type nom nombre nome bezeichnung feld bezeichner etikett libelle titre titulo titolo campo
    """
)
_VALUES = word_set(
    """
    value values val content contents text data answer answers response body detail details stringvalue textvalue
    numbervalue valuestring defaultvalue rawvalue currentvalue fieldvalue fieldvalues customfieldvalue input wert
    werte valeur valeurs valor valores valore valori inhalt texto testo contenu contenido conteudo contenuto antwort
    description
    """
)
_HOLDS_LABEL = word_set(
    """
    customfield field fielddefinition definition attribute property question meta type metadata schema parameter
    column
    """
)
_COLUMNS = word_set("columns header headers fields columnnames fieldnames names")
_ROWS = word_set("rows data values records items")
_CUSTOM = word_set(
    """
    customfield customfields customfieldvalues customfieldvalue listingcustomfields reservationcustomfields
    customattributes customdata customproperties userdefinedfields extrafields additionalfields attributes
    customvalues custom fields
    """
)
# All folded names that mean something here.
NAMES = _LABELS | _VALUES | _HOLDS_LABEL | _COLUMNS | _ROWS | _CUSTOM
LONGEST_LABEL = 80  # characters; a longer one is a sentence
LENGTH = 2  # elements of a list that is a label and its value


@lru_cache(maxsize=8192)
def part_of_pair(name: str) -> str:
    """The role that a field of this name has in a pair: "label", "value", "holder" (of a label), "holder and label", or
    "" for none."""
    folded = compact(name)
    if folded in _VALUES:
        return "value"
    if folded in _LABELS:
        return "holder and label" if folded in _HOLDS_LABEL else "label"
    return "holder" if folded in _HOLDS_LABEL else ""


@lru_cache(maxsize=8192)
def holds_custom_fields(name: str) -> bool:
    return compact(name) in _CUSTOM


def labels_of(value: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    """The labels of an object: its own label fields, and those of its definition one level below. `names`: the fields
    that may hold a label."""
    for name in names:
        below, part = value[name], part_of_pair(name)
        if isinstance(below, str) and part.endswith("label"):
            yield below
        elif isinstance(below, dict) and part.startswith("holder"):
            yield from (text for key, text in below.items() if isinstance(text, str) and part_of_pair(key) == "label")


def may_be_pair(elements: list[Any]) -> bool:
    """Whether a list may be a label and its value."""
    if len(elements) != LENGTH:
        return False
    label, value = elements
    return isinstance(label, str) and isinstance(value, (str, int)) and not isinstance(value, bool)


def may_be_table(names: Iterable[str]) -> bool:
    """Whether an object with these field names may be a table: one field for columns, one for rows."""
    folded = set(map(compact, names))
    return not folded.isdisjoint(_COLUMNS) and not folded.isdisjoint(_ROWS)


def columns_of(value: dict[str, Any]) -> tuple[list[str], str] | None:
    """The names of a table's columns, and the name of the field with its rows; None if the object is not a table."""
    folded = {compact(name): name for name, below in value.items() if isinstance(below, list)}
    header = next((folded[name] for name in folded if name in _COLUMNS), None)
    rows = next((folded[name] for name in folded if name in _ROWS and folded[name] != header), None)
    if header is None or rows is None or not any(isinstance(row, list) for row in value[rows][:3]):
        return None
    names = [_column(each) for each in value[header]]
    return (names, rows) if any(names) else None


def _column(column: Any) -> str:
    if isinstance(column, dict):
        return next(labels_of(column, column), "")
    return column if isinstance(column, str) else ""
