"""Log lines of the hot path."""

import logging

import pytest

from telemetry import log_lines

LOGGER = logging.getLogger("telemetry.tests")


def test_a_line_has_what_the_standard_library_would_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    LOGGER.info("exchange", extra={"upstream": "bench", "ms": 1.5})
    log_lines.info(LOGGER, "exchange", {"upstream": "bench", "ms": 1.5})
    theirs, ours = (vars(each) for each in caplog.records)
    assert ours.keys() == theirs.keys()
    where_and_when = {"created", "msecs", "relativeCreated", "lineno", "pathname", "filename", "funcName", "module"}
    assert {name for name in ours if ours[name] != theirs[name]} <= where_and_when
    assert 0 <= ours["created"] - theirs["created"] < 60


def test_a_line_below_the_level_is_not_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    log_lines.info(LOGGER, "exchange", {})
    assert not caplog.records


@pytest.mark.parametrize("name", ["name", "msg", "levelname", "exc_info"])
def test_a_field_may_not_replace_what_every_line_has(name: str):
    with pytest.raises(KeyError, match=name):
        LOGGER.info("exchange", extra={name: 1})
    with pytest.raises(KeyError, match=name):
        log_lines.info(LOGGER, "exchange", {name: 1})
