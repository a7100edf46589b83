"""Every failed call has one origin: on call, "whose fault is it" is answered by a column."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_protection.core.errors import CallError, InternalError, InvalidArgument
from gateway.failure_origins import CANCELLED, ORIGINS, origin_of
from gateway.upstreams.errors import UpstreamGarbled
from telemetry.measurement import Origin

ROOT = Path(__file__).parents[2]
BUILDERS = {"invalid_cursor": 0, "wrong": 1}  # functions that take a reason, and its place among their arguments
# Not calls: OpenAPI documents that staff import, the descriptions of a schema, and the end of a connection.
PREFIXES = ("invalid_", "unknown_")  # of reasons that are made of an argument's name
NO_CALLS = ("openapi/document", "response_schemas.py", "error_examples.py", "socket_session.py")


def reasons() -> Iterator[str]:
    """All reasons that the product's code writes out."""
    for path in [*ROOT.glob("gateway/**/*.py"), *ROOT.glob("context_protection/**/*.py")]:
        if any(part in path.as_posix() for part in NO_CALLS):
            continue
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            given = [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
            if name in BUILDERS and len(call.args) > BUILDERS[name]:
                given.append(call.args[BUILDERS[name]])
            if name == "UpstreamGarbled":
                continue  # of one origin, whatever the reason
            yield from (
                constant.value
                for value in given
                if isinstance(value, ast.Constant | ast.IfExp)
                for constant in ast.walk(value)
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
            )


def test_each_reason_of_the_product_has_its_origin():
    found = set(reasons())
    assert len(found) > 60
    assert found - ORIGINS.keys() == set()


def test_no_reason_is_declared_that_the_product_does_not_have():
    written = "\n".join(path.read_text() for path in ROOT.glob("*/**/*.py") if path.name != "failure_origins.py")
    others = {CANCELLED, "parse_error", "error", "unsupported_media_type", "not_acceptable"}  # of the REST framework
    unwritten = {reason for reason in ORIGINS if f'"{reason}"' not in written} - others
    assert {each for each in unwritten if not each.startswith(PREFIXES)} == set()


@pytest.mark.parametrize(
    ("error", "origin"),
    [
        (InvalidArgument("", reason="invalid_limit"), Origin.CALLER),
        (InvalidArgument("", reason="invalid_check_in_date"), Origin.CALLER),
        (UpstreamGarbled("", reason="too_deep"), Origin.UPSTREAM),
        (InvalidArgument("", reason="too_deep"), Origin.CALLER),
        (InvalidArgument("", reason="withheld_field"), Origin.POLICY),
        (InternalError("", reason="something_new"), Origin.SLUICE),
        (CallError("", reason="not_acceptable"), Origin.CALLER),
    ],
)
def test_the_origin_follows_the_reason_and_the_kind_of_error(error, origin):
    assert origin_of(error) == origin
