"""Log lines for people and for collectors."""

import json
import logging
import re
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.process.logs import PlainLines, line_formatter
from gateway.tracing import identity
from telemetry.measurement import CallOutcome


def record(**extra: Any) -> logging.LogRecord:
    try:
        raise ValueError("wrong value")
    except ValueError:
        made = logging.getLogger("gateway.tests").makeRecord(
            "gateway.tests", logging.ERROR, "x.py", 1, "call %s failed", ("seven",), sys.exc_info(), extra=extra
        )
    return made


def test_json_lines_have_a_field_for_each_extra_and_the_stack():
    line = line_formatter("json").format(record(request_id="abc", odd=object()))
    document = json.loads(line)
    assert "\n" not in line
    assert document["event"] == "call seven failed"
    assert (document["level"], document["logger"], document["request_id"]) == ("error", "gateway.tests", "abc")
    assert "ValueError: wrong value" in document["exception"]
    assert document["timestamp"].endswith("Z")


def test_console_lines_begin_with_time_level_and_event():
    line = line_formatter("console").format(record(request_id="abc"))
    assert re.match(r"20\S+Z \[error +\] call seven failed +\[gateway.tests\] request_id=abc\n", line)
    assert line.endswith("ValueError: wrong value")
    assert "locals" not in line  # values of variables may be secrets


@pytest.mark.parametrize("is_terminal", [True, False])
def test_only_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch, is_terminal: bool):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    line = line_formatter("console").format(record(color_message="\x1b[36mcall\x1b[0m"))
    assert ("\x1b[" in line) is is_terminal
    assert "color_message" not in line


VALUES = st.text(max_size=12) | st.integers() | st.floats() | st.none() | st.sampled_from([*CallOutcome, [1], b"x"])
EXTRA = st.dictionaries(st.sampled_from(["path", "ms", "upstream", "color_message", "request_id"]), VALUES)
OF_THE_LINE = st.dictionaries(st.sampled_from(["event", "level", "logger", "stack"]), st.just("warning"), max_size=1)


@given(st.text(max_size=40), st.sampled_from([logging.INFO, logging.WARNING]), EXTRA, OF_THE_LINE)
@example("exchange", logging.INFO, {"path": "/a b", "ms": 1.5, "quoted": '"'}, {})
@example("", logging.INFO, {"a": ""}, {})
def test_plain_lines_read_as_those_of_structlog(event: str, level: int, extra: dict[str, Any], more: dict[str, str]):
    lines = line_formatter("console")
    assert isinstance(lines, PlainLines)
    made = logging.getLogger("a.b").makeRecord("a.b", level, "x.py", 1, "%s", (event,), None, extra=extra | more)
    assert _without_time(lines.format(made)) == _without_time(lines.others.format(made))


def _without_time(line: str) -> str:
    at, rest = line.split(" ", 1)
    return rest if re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", at) else line


def test_an_event_cannot_look_like_two_lines():
    forged = logging.getLogger("gateway").makeRecord(
        "gateway", logging.INFO, "x.py", 1, "GET %s", ("/\n2026 [info] fine\x1b[2J",), None
    )
    line = line_formatter("console").format(forged)
    assert "GET /\\n2026 [info] fine\\x1b[2J" in line
    assert "\n" not in line


def test_a_line_has_the_id_and_the_trace_of_its_request():
    tokens = identity.request_id.set("from-the-client"), identity.client_trace.set("a" * 32)
    document = json.loads(line_formatter("json").format(record()))
    identity.request_id.reset(tokens[0])
    identity.client_trace.reset(tokens[1])
    assert (document["request_id"], document["trace_id"]) == ("from-the-client", "a" * 32)
    assert "request_id" not in json.loads(line_formatter("json").format(record()))


def test_another_format_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match="expected console or json"):
        line_formatter("xml")
