"""`where`: typed conditions that choose rows.

{"status":"confirmed","totalPrice":{"gte":500,"lt":900},"or":[{"nights":1},{"channel":null}]}: all conditions must hold,
and at least one alternative of "or". A null matches only `ne` and `isnull`.
"""

import json
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
from context_protection.core.query.columns import AskedColumn, AskedColumns, Scalar, Type, fold, read_as, storable

PARAMETER = "where"
CONDITIONS, VALUES, TEXT_CHARS, JSON_CHARS = 20, 200, 200, 4_000
EITHER = "or"


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
_OF_BOOLEANS = (Op.EQ, Op.NE, Op.IN, Op.ISNULL)
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
    """One comparison. `type`: the type as which the row's value is read. `value`: of that type; a tuple for `in`; for
    `isnull`, true if the row's value must be null and false if it must not."""

    column: AskedColumn
    op: Op
    type: Type
    value: Scalar | tuple[Scalar, ...]

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
                return isinstance(found, str) and fold(str(self.value)) in fold(found)
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


def parse(where: Any, columns: AskedColumns) -> Conditions:
    """Parses a `where` object, or the JSON text of one. Raises InvalidArgument."""
    document = read_object(where, PARAMETER, 'an object such as {"status":"confirmed","totalPrice":{"gte":500}}')
    if sum(_sizes(document)) > CONDITIONS:
        raise _invalid(f"where has more than {CONDITIONS} conditions.", where, f"at most {CONDITIONS} conditions")
    every = tuple(_conditions({name: value for name, value in document.items() if name != EITHER}, columns))
    alternatives = _alternatives(document[EITHER]) if EITHER in document else []
    either = tuple(Conditions(tuple(_conditions(each, columns))) for each in alternatives)
    return Conditions(every, (either,) if either else ())


def read_object(value: Any, parameter: str, expected: str) -> dict[str, Any]:
    """A JSON object, or the JSON text of one, which some clients send. Raises InvalidArgument."""
    document = value
    if isinstance(value, str) and len(value) <= JSON_CHARS:
        try:
            document = orjson.loads(value)
        except ValueError:  # the check below rejects it
            document = None
    if not isinstance(document, dict) or not all(isinstance(name, str) for name in document):
        raise InvalidArgument(
            f"{parameter} is not an object.",
            reason=f"invalid_{parameter}",
            parameter=parameter,
            value=value,
            expected=expected,
            suggestion=f"Send {parameter} as a JSON object.",
        )
    if len(json.dumps(document, ensure_ascii=False)) > JSON_CHARS:  # the hints of each page repeat it
        raise InvalidArgument(
            f"{parameter} is longer than {JSON_CHARS:,} characters.",
            reason=f"invalid_{parameter}",
            parameter=parameter,
            value=value,
            expected=f"at most {JSON_CHARS:,} characters of JSON",
            suggestion="Ask for a range instead of many values, or in several calls.",
        )
    return document


def _sizes(document: Mapping[str, Any]) -> Iterator[int]:
    for name, value in document.items():
        if name == EITHER and isinstance(value, list):
            yield from (len(each) if isinstance(each, dict) else 1 for each in value)
        else:
            yield len(value) if isinstance(value, dict) else 1


def _alternatives(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value or not all(each and isinstance(each, dict) for each in value):
        raise _invalid(
            "or is not a list of alternatives.", value, 'a list of objects: "or":[{"nights":1},{"guests":1}]'
        )
    if any(EITHER in each for each in value):
        raise _invalid("or stands inside an or.", value, "fields and their conditions in each alternative")
    return value


def _conditions(document: Mapping[str, Any], columns: AskedColumns) -> Iterator[Condition]:
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
        raise _invalid(f"{shown(name)} has no condition.", raw, f"a value, or any of: {', '.join(Op)}")
    return [(_op(name, op), value) for op, value in raw.items()]


def _op(name: str, op: Any) -> Op:
    if op not in list(Op):
        close = nearest(str(op)[:TEXT_CHARS], list(Op))
        raise _invalid(
            f"{shown(name)} has the unknown comparison {shown(op)!r}.",
            op,
            f"any of: {', '.join(Op)}",
            f"Did you mean {close}?" if close else 'For example {"gte":500}.',
        )
    return Op(op)


def _condition(column: AskedColumn, op: Op, value: Any) -> Condition:
    if value is None and op in (Op.EQ, Op.NE, Op.ISNULL):
        return Condition(column, Op.ISNULL, column.type, op is not Op.NE)
    if op is Op.ISNULL:
        if not isinstance(value, bool):
            raise _wrong(column, op, value, EXPECTED[Type.BOOLEAN])
        return Condition(column, op, column.type, value)
    if op is Op.IN:
        if not isinstance(value, list) or not 0 < len(value) <= VALUES:
            raise _wrong(column, op, value, f"a list of 1 to {VALUES} values")
        typed = [_typed(column, op, each) for each in value]
        if len({each for each, _ in typed}) > 1:
            raise _wrong(column, op, value, "values of one kind")
        return Condition(column, op, typed[0][0], tuple(dict.fromkeys(each for _, each in typed)))
    as_type, wanted = _typed(column, op, value)
    return Condition(column, op, as_type, wanted)


def _typed(column: AskedColumn, op: Op, value: Any) -> tuple[Type, Scalar]:
    """The value to compare with, and the type as which the row's value is read."""
    as_type = _type_of(value) if column.type is Type.ANY else column.type
    if op is Op.CONTAINS and as_type is not Type.TEXT:
        expected = EXPECTED[Type.TEXT] if column.type is Type.ANY else "contains only for texts"
        raise _wrong(column, op, value, expected)
    if as_type is Type.BOOLEAN and op not in _OF_BOOLEANS:
        raise _wrong(column, op, value, "eq, ne, in or isnull, which go with true and false")
    if isinstance(value, str) and value in column.elsewhere:
        other = orjson.dumps({column.elsewhere[value]: value}).decode()
        raise _invalid(f"{column.name} is never {value!r} here.", value, f"where={other} for upstream's own word")
    wanted = _value(as_type, value)
    if wanted is None:
        raise _wrong(column, op, value, EXPECTED[as_type])
    if as_type is Type.MOMENT and len(str(wanted)) == 10:
        return Type.DATE, wanted  # a date compared with a moment means the whole day
    return as_type, wanted


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
            return value if isinstance(value, str) and len(value) <= TEXT_CHARS and storable([value]) else None
        case Type.NUMBER:
            return _finite(value)
        case Type.BOOLEAN:
            return value if isinstance(value, bool) else None
        case Type.DATE:
            return value if isinstance(value, str) and _is_date(value) else None
        case Type.MOMENT:
            return _moment(value) if isinstance(value, str) else None
        case Type.ANY:
            return None


def _finite(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return Decimal(str(value)) if math.isfinite(float(value)) else None
    except (OverflowError, ValueError):  # an integer too large for a float, or with too many digits for str
        return None


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


def _wrong(column: AskedColumn, op: Op, value: Any, expected: str) -> InvalidArgument:
    message = f"{shown(column.name)} ({column.type}) cannot be compared like this: {op} {shown(value)!r}."
    return _invalid(message, value, expected, f"Expected for {shown(column.name)} with {op}: {expected}.")


def _invalid(message: str, value: Any, expected: str, suggestion: str = "") -> InvalidArgument:
    return InvalidArgument(
        message,
        reason="invalid_where",
        parameter=PARAMETER,
        value=value,
        expected=expected,
        suggestion=suggestion or f"Send {expected}.",
    )
