"""Log lines for people and for collectors."""

import json
import logging
import re
import sys
from typing import Any

import pytest

from gateway.process.logs import line_formatter
from gateway.tracing import identity


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
