"""Log lines for people and for collectors."""

import json
import logging
import sys
from typing import Any

import pytest

from gateway.process.logs import line_formatter


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
    assert line.startswith("timestamp=")
    assert line.index("level='error'") < line.index("event='call seven failed'") < line.index("request_id='abc'")


def test_another_format_is_refused_with_those_that_are():
    with pytest.raises(ValueError, match="expected console or json"):
        line_formatter("xml")
