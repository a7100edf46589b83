"""`where`: typed conditions that choose rows.

{"status":"confirmed","totalPrice":{"gte":500,"lt":900},"or":[{"nights":1},{"channel":null}]}: all conditions must hold,
and at least one alternative of "or". A null matches only `ne` and `isnull`.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import orjson

from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.folding import fold_for_search
from context_protection.core.names import fold_name, meant
from context_protection.core.query.columns import QueryColumn, QueryColumns, Scalar, Type, read_as, storable
from context_protection.core.query.corrections import NOTHING, Correctable
from context_protection.core.query.documents import parsed

PARAMETER = "where"
MAX_CONDITIONS, MAX_VALUES, TEXT_CHARS = 20, 200, 200
OR = "or"


class Op(StrEnum):
    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    CONTAINS = "contains"
    ISNULL = "isnull"


COMPARED: Mapping[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.GT: operator.gt,
    Op.GTE: operator.ge,
    Op.LT: operator.lt,
    Op.LTE: operator.le,
}
_LIKE = ("like", "ilike")  # SQL's, whose texts have wildcards
# Other spellings of the comparisons.
_SPELLINGS: Mapping[str, Op] = {
    **dict.fromkeys(("=", "==", "equals", "equal", "is"), Op.EQ),
    **dict.fromkeys(("!=", "<>", "not", "neq", "notequals"), Op.NE),
    **dict.fromkeys((">", "greaterthan", "after"), Op.GT),
    **dict.fromkeys((">=", "ge", "min", "from", "greaterthanorequal"), Op.GTE),
    **dict.fromkeys(("<", "lessthan", "before"), Op.LT),
    **dict.fromkeys(("<=", "le", "max", "to", "lessthanorequal"), Op.LTE),
    **dict.fromkeys(("oneof", "anyof"), Op.IN),
    **dict.fromkeys((*_LIKE, "icontains", "search"), Op.CONTAINS),
    **dict.fromkeys(("null", "isempty"), Op.ISNULL),
}
_NOT_NULL = ("notnull", "isnotnull")  # isnull with the other value
SIMILAR = 0.6  # how similar a comparison must be to be suggested; a lower ratio suggests others with a common letter
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})")
_BY_ORDER = (Op.GT, Op.GTE, Op.LT, Op.LTE)
_BOOLEAN_OPS = (Op.EQ, Op.NE, Op.IN, Op.ISNULL)
EXPECTED = {
    Type.TEXT: f"a text of at most {TEXT_CHARS} characters",
    Type.NUMBER: "a finite number",
    Type.BOOLEAN: "true or false",
    Type.DATE: "a date as YYYY-MM-DD",
    Type.MOMENT: 'a moment as "YYYY-MM-DD HH:MM:SS" in UTC, or a date for the whole day',
    Type.ANY: f"a text of at most {TEXT_CHARS} characters, a finite number, true or false",
}


@dataclass(frozen=True)
class Condition:
    """One comparison. `type`: the type to read the row's value as. `value`: of that type; a tuple for `in`; for
    `isnull`, true if the row's value must be null and false if it must not."""

    column: QueryColumn
    op: Op
    type: Type
    value: Scalar | tuple[Scalar, ...]

    @property
    def compares_amounts(self) -> bool:
        """Whether an amount is compared with a number, which is a different amount in each currency."""
        return bool(self.column.unit) and self.op in _BY_ORDER and self.value != 0

    def holds(self, record: Mapping[str, Any]) -> bool:
        found = self.column.read(record, self.type)
        match self.op:
            case Op.ISNULL:
                return (found is None) == self.value
            case Op.NE:
                return found != self.value
            case Op.IN:
                assert isinstance(self.value, tuple)
                return found is not None and found in self.value
            case Op.CONTAINS:
                return isinstance(found, str) and fold_for_search(str(self.value)) in fold_for_search(found)
            case _:
                return found is not None and COMPARED[self.op](found, self.value)


@dataclass(frozen=True)
class Conditions:
    """All of `every` must hold, and at least one alternative in each of `either`."""

    every: tuple[Condition, ...] = ()
    either: tuple[tuple["Conditions", ...], ...] = ()

    def match(self, record: Mapping[str, Any]) -> bool:
        """Whether a row in upstream's form matches."""
        return all(condition.holds(record) for condition in self.every) and all(
            any(each.match(record) for each in alternatives) for alternatives in self.either
        )

    def __iter__(self) -> Iterator[Condition]:
        yield from self.every
        for alternatives in self.either:
            for each in alternatives:
                yield from each

    def __len__(self) -> int:
        return len(self.every) + sum(len(each) for alternatives in self.either for each in alternatives)


def parse(where: Any, columns: QueryColumns) -> Conditions:
    """Parses a `where` object, or the JSON text of one. Raises InvalidArgument."""
    example = 'an object such as {"status":"confirmed","totalPrice":{"gte":500}}'
    return parsed(where, PARAMETER, example, lambda document: _parsed(document, columns))


def _parsed(document: Mapping[str, Any], columns: QueryColumns) -> Conditions:
    if sum(_sizes(document)) > MAX_CONDITIONS:
        raise _invalid(
            f"where has more than {MAX_CONDITIONS} conditions.", dict(document), f"at most {MAX_CONDITIONS} conditions"
        )
    every = tuple(_conditions({name: value for name, value in document.items() if name != OR}, columns))
    alternatives = _alternatives(document[OR]) if OR in document else []
    either = tuple(Conditions(tuple(_conditions(each, columns))) for each in alternatives)
    return Conditions(every, (either,) if either else ())


def _sizes(document: Mapping[str, Any]) -> Iterator[int]:
    for name, value in document.items():
        if name == OR and isinstance(value, list):
            yield from (len(each) if isinstance(each, dict) else 1 for each in value)
        else:
            yield len(value) if isinstance(value, dict) else 1


def _alternatives(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value or not all(each and isinstance(each, dict) for each in value):
        raise _invalid(
            "or is not a list of alternatives.",
            value,
            'a list of objects: "or":[{"nights":1},{"guests":1}]',
            wrong=value,
            right=[{name: each} for name, each in value.items()] if isinstance(value, dict) and value else NOTHING,
        )
    if any(OR in each for each in value):
        raise _invalid("or is nested in another or.", value, "fields and their conditions in each alternative")
    return value


def _conditions(document: Mapping[str, Any], columns: QueryColumns) -> Iterator[Condition]:
    for name, raw in document.items():
        column = columns.resolve(name, PARAMETER)
        for op, value in _ops(name, raw):
            yield _condition(column, op, value)


def _ops(name: str, raw: Any) -> list[tuple[Op, Any]]:
    if isinstance(raw, list):
        return [(Op.IN, raw)]
    if not isinstance(raw, dict):
        return [(Op.EQ, raw)]
    if not raw:
        raise _invalid(f"{shown(name)} has no condition.", raw, f"a value, or any of: {', '.join(Op)}", wrong=name)
    return [_comparison(name, op, _without_wildcards(name, op, value)) for op, value in raw.items()]


def _without_wildcards(name: str, op: Any, value: Any) -> Any:
    """The value of `like` as one of `contains`, which needs no % at the ends. Raises InvalidArgument for a wildcard
    within the text."""
    if not isinstance(value, str) or str(op).lstrip("$").lower() not in _LIKE:
        return value
    text = value.strip("%")
    if "%" not in text and "_" not in text:
        return text
    raise _invalid(
        f"{shown(name)} has a wildcard within its text: {shown(op)} {shown(value)!r}.",
        value,
        "contains with a part of the text; % is understood only at the ends of a text",
        "Use contains with a part of the text.",
        wrong={op: value},
        right={Op.CONTAINS.value: max(text.split("%"), key=len)},
    )


def _comparison(name: str, op: Any, value: Any) -> tuple[Op, Any]:
    if op in list(Op):
        return Op(op), value
    spelling = str(op)[:TEXT_CHARS].lstrip("$")
    word = fold_name(spelling)
    if found := meant(spelling, Op) or _SPELLINGS.get(word):
        return Op(found), value
    if word in _NOT_NULL and (is_not_null := _boolean(value)) is not None:
        return Op.ISNULL, not is_not_null
    raise _unknown_comparison(name, op, spelling)


def _unknown_comparison(name: str, op: Any, spelling: str) -> Correctable:
    message, expected = f"{shown(name)} has an unknown comparison: {shown(op)!r}.", f"any of: {', '.join(Op)}"
    if _negates(fold_name(spelling)):
        return _invalid(message, op, expected, "Use ne, or isnull with false. No other comparison can be negated.")
    close = nearest(spelling, [each.value for each in Op], SIMILAR)
    suggestion = f"Did you mean {close}?" if close else 'For example {"gte":500}.'
    return _invalid(message, op, expected, suggestion, wrong=op, right=close or NOTHING)


def _negates(word: str) -> bool:
    """Whether the comparison is the opposite of another, such as nin or doesNotContain. The nearest word is then the
    one that it negates."""
    return "not" in word or (word[:1] == "n" and (word[1:] in list(Op) or word[1:] in _SPELLINGS))


def _condition(column: QueryColumn, op: Op, value: Any) -> Condition:
    if value is None and op in (Op.EQ, Op.NE, Op.ISNULL):
        return Condition(column, Op.ISNULL, column.type, op is not Op.NE)
    if op is Op.ISNULL:
        is_null = _boolean(value)
        if is_null is None:
            raise _bad_value(column, op, value, EXPECTED[Type.BOOLEAN])
        return Condition(column, op, column.type, is_null)
    if op is Op.IN:
        value = _listed(value)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_VALUES:
            raise _bad_value(column, op, value, f"a list of 1 to {MAX_VALUES} values")
        typed = [_typed(column, op, each) for each in value]
        if len({each for each, _ in typed}) > 1:
            raise _bad_value(column, op, value, "values of a single type")
        return Condition(column, op, typed[0][0], tuple(dict.fromkeys(each for _, each in typed)))
    as_type, wanted = _typed(column, op, value[0] if isinstance(value, list) and len(value) == 1 else value)
    return Condition(column, op, as_type, wanted)


def _listed(value: Any) -> Any:
    """The values of `in`. A text is split at its commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, (bool, int, float)) else value


def _typed(column: QueryColumn, op: Op, value: Any) -> tuple[Type, Scalar]:
    """The type to read the row's value as, and the value to compare it with."""
    as_type = _undeclared_type(column, op, value) if column.type is Type.ANY else column.type
    if op is Op.CONTAINS and as_type is not Type.TEXT:
        expected = EXPECTED[Type.TEXT] if column.type is Type.ANY else "contains only on a text field"
        raise _bad_value(column, op, value, expected)
    if as_type is Type.BOOLEAN and op not in _BOOLEAN_OPS:
        raise _bad_value(column, op, value, "one of eq, ne, in and isnull for true and false")
    if isinstance(value, str) and value in column.elsewhere:
        other = orjson.dumps({column.elsewhere[value]: value}).decode()
        raise _invalid(
            f"{column.name} is never {value!r} here.",
            value,
            f"where={other} for this value of upstream",
            wrong=column.name,
            right=column.elsewhere[value],
        )
    wanted = _value(as_type, value)
    if wanted is None:
        raise _bad_value(column, op, value, EXPECTED[as_type])
    if as_type is Type.MOMENT and len(str(wanted)) == 10:
        return Type.DATE, wanted  # a date compared with a moment means the whole day
    return as_type, wanted


def _undeclared_type(column: QueryColumn, op: Op, value: Any) -> Type:
    """The type of the given value. It is read as what the rows have instead, if it can be: "4" as a number, "true" as
    true, 4 as a text, a date as the whole day of a moment, and a moment in UTC, however it is written."""
    given = _type_of(value)
    if given not in (Type.TEXT, Type.NUMBER) or op is Op.CONTAINS:
        return given
    match given, column.sampled:
        case Type.TEXT, Type.NUMBER if _value(Type.NUMBER, value) is not None:
            return Type.NUMBER
        case Type.TEXT, Type.BOOLEAN if op in _BOOLEAN_OPS and _boolean(value) is not None:
            return Type.BOOLEAN
        case Type.TEXT, Type.MOMENT if _is_date(value):
            return Type.DATE
        case Type.TEXT, Type.MOMENT if op in _BY_ORDER and _moment(value) and not column.has_offsets:
            return Type.MOMENT
        case Type.TEXT, Type.TEXT if op in _BY_ORDER and column.has_years_last:
            raise _years_last(column, op, value)
        case Type.NUMBER, Type.TEXT if op in _BOOLEAN_OPS:
            return Type.TEXT
    return given


def _type_of(value: Any) -> Type:
    match value:
        case bool():
            return Type.BOOLEAN
        case int() | float():
            return Type.NUMBER
        case str():
            return Type.TEXT
        case _:
            return Type.ANY


def _value(as_type: Type, value: Any) -> Scalar | None:
    match as_type:
        case Type.TEXT:
            text = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
            return text if isinstance(text, str) and len(text) <= TEXT_CHARS and storable([text]) else None
        case Type.NUMBER:
            return _finite(value)
        case Type.BOOLEAN:
            return _boolean(value)
        case Type.DATE:
            return _day(value) if isinstance(value, str) else None
        case Type.MOMENT:
            return _moment(value) if isinstance(value, str) else None
        case Type.ANY:
            return None


def _boolean(value: Any) -> bool | None:
    return (
        {"true": True, "false": False}.get(value.strip().lower())
        if isinstance(value, str)
        else (value if isinstance(value, bool) else None)
    )


def _finite(value: Any) -> Decimal | None:
    if isinstance(value, str):
        return _written_number(value.strip())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return Decimal(str(value)) if math.isfinite(float(value)) else None
    except (OverflowError, ValueError):  # an integer too large for a float, or with too many digits for str
        return None


def _written_number(text: str) -> Decimal | None:
    """A number as a text, which some clients send."""
    return Decimal(text) if _NUMBER.fullmatch(text) and math.isfinite(float(text)) else None


def _day(value: str) -> str | None:
    """A date, or the date of a moment."""
    if _is_date(value):
        return value
    return found[:10] if (found := _moment(value)) else None


def _is_date(value: str) -> bool:
    return len(value) == 10 and read_as(value, Type.DATE) is not None


def _moment(value: str) -> str | None:
    """The moment in UTC, in the rows' format; a date stays a date. None if the text is neither."""
    if _is_date(value):
        return value
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]", value) or len(value) > TEXT_CHARS:
        return None
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None).isoformat(" ", "seconds")


def _years_last(column: QueryColumn, op: Op, value: Any) -> InvalidArgument:
    name = shown(column.name)
    return _invalid(
        f"{name} has dates with the year last, such as 9/23/2025. Their order as texts is not that of time.",
        value,
        f"no {op} on {name}; eq, in and contains compare such texts",
        f"Compare them by SQL: strptime({name}, '%m/%d/%Y') reads them; '%d/%m/%Y' if the day is first.",
    )


def _bad_value(column: QueryColumn, op: Op, value: Any, expected: str) -> InvalidArgument:
    message = f"{shown(column.name)} ({column.type}) cannot be compared like this: {op} {shown(value)!r}."
    return _invalid(message, value, expected, f"Expected for {shown(column.name)} with {op}: {expected}.", wrong=value)


def _invalid(
    message: str, value: Any, expected: str, suggestion: str = "", *, wrong: Any = NOTHING, right: Any = NOTHING
) -> Correctable:
    return Correctable(
        message,
        reason="invalid_where",
        parameter=PARAMETER,
        value=value,
        expected=expected,
        suggestion=suggestion or f"Send {expected}.",
        wrong=wrong,
        right=right,
    )
