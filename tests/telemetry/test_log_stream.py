"""Log lines reach stderr at once, or many with one write."""

import io
import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from telemetry.log_stream import WRITTEN_BYTES, LogStream


class Target(io.StringIO):
    """`writes`: the texts that were written. Raises BrokenPipeError if `is_broken`."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []
        self.is_broken = False
        self.during: Callable[[], object] | None = None  # called once, during a write

    def write(self, text: str) -> int:
        during, self.during = self.during, None
        if during is not None:
            during()
        if self.is_broken:
            raise BrokenPipeError
        self.writes.append(text)
        return len(text)


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def stream(target: Target) -> LogStream:
    return LogStream(target)


def test_a_line_is_written_at_once(stream: LogStream, target: Target):
    stream.write("one\n")
    stream.write("two\n")
    assert target.writes == ["one\n", "two\n"]


def test_lines_of_a_block_are_written_together_at_its_end(stream: LogStream, target: Target):
    with stream.together():
        stream.write("one\n")
        stream.write("two\n")
        assert target.writes == []
    assert target.writes == ["one\ntwo\n"]
    stream.write("three\n")
    assert target.writes[1:] == ["three\n"]


def test_other_threads_do_not_wait_for_the_end_of_a_block(stream: LogStream, target: Target):
    with stream.together():
        stream.write("mine\n")
        other = threading.Thread(target=stream.write, args=("theirs\n",))
        other.start()
        other.join()
        assert target.writes == ["theirs\n"]
    assert target.writes == ["theirs\n", "mine\n"]


def test_a_write_ends_with_a_line_and_is_not_split_by_a_pipe(stream: LogStream, target: Target):
    lines = [f"{number} {'é' * 900}\n" for number in range(7)] + ["long" * WRITTEN_BYTES + "\n", "last\n"]
    with stream.together():
        for line in lines:
            stream.write(line)
    assert "".join(target.writes) == "".join(lines)
    assert len(target.writes) == 6
    assert all(text.endswith("\n") for text in target.writes)
    assert [len(text.encode()) > WRITTEN_BYTES for text in target.writes] == [False] * 4 + [True, False]


def test_lines_are_written_if_the_block_fails(stream: LogStream, target: Target):
    with pytest.raises(ValueError, match="broken"), stream.together():  # noqa: PT012 (the line is logged before)
        stream.write("before\n")
        raise ValueError("broken")
    assert target.writes == ["before\n"]


def test_a_closed_stderr_does_not_fail_the_block(stream: LogStream, target: Target):
    with stream.together():
        stream.write("lost\n")
        target.is_broken = True
    target.is_broken = False
    stream.write("next\n")
    assert target.writes == ["next\n"]


def test_a_line_that_cannot_be_written_loses_no_other(tmp_path: Path):
    with (tmp_path / "log").open("w", encoding="ascii") as file:
        stream = LogStream(file)
        with stream.together():
            for line in ("before\n", f"é{'x' * WRITTEN_BYTES}\n", "after\n"):
                stream.write(line)
    assert (tmp_path / "log").read_text() == "before\nafter\n"


def test_a_process_may_have_no_stderr():
    stream = LogStream(None)
    stream.write("lost\n")
    with stream.together():
        stream.write("lost\n")


def test_a_finalizer_may_log_during_a_write(stream: LogStream, target: Target):
    target.during = partial(stream.write, "of a finalizer\n")
    stream.write("one\n")
    assert sorted(target.writes) == ["of a finalizer\n", "one\n"]


def test_the_standard_librarys_handler_writes_to_it(stream: LogStream, target: Target):
    logger, handler = logging.Logger("telemetry.tests"), logging.StreamHandler(stream)
    logger.addHandler(handler)
    with stream.together():
        logger.warning("one")
        logger.warning("two")
    assert target.writes == ["one\ntwo\n"]
