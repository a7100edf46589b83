"""Log lines: for people (coloured in a terminal only), or JSON for collectors (`LOG_FORMAT=json`)."""

import logging
import re
import sys
from collections.abc import MutableMapping, Sequence
from datetime import UTC, datetime
from itertools import compress
from typing import Any

import structlog

from gateway.process import place
from gateway.tracing import identity, spans

EVENT_WIDTH = 34  # characters
COLOUR_MESSAGE = "color_message"  # uvicorn's message once more, with colour codes

# No line shows where it was logged, or in which thread or process, so the standard library need not find that out.
logging._srcfile = None
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False

_WORKER = place.name_of(place.number()) if place.is_worker() else ""  # a process never changes its number
_OF_ALL_RECORDS = frozenset(vars(logging.makeLogRecord({})))
# Names that the formatter uses itself. A field with such a name would replace the formatter's value.
_COLUMNS = frozenset(
    ("timestamp", "level", "event", "logger", "logger_name", "stack", "exception", "_logger", "_name", "_record")
)
_TEXTS_AND_NUMBERS = frozenset({str, int, float, bool})
_TO_BE_QUOTED = re.compile(r"""[ \t=\r\n"']""").search


def _with_ids(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Adds the ids of the current request or call, and the worker's name if there are several workers."""
    event.pop(COLOUR_MESSAGE, None)
    if _WORKER:
        event["worker"] = _WORKER
    for name, value in (("request_id", identity.request_id.get()), ("trace_id", spans.trace_id())):
        if value:
            event.setdefault(name, value)
    return event


def _on_one_line(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escapes control characters of the event, which could look like another line or move a terminal's cursor."""
    event["event"] = _escaped(str(event["event"]))
    return event


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    _with_ids,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


class PlainLines(logging.Formatter):
    """Formats INFO lines as `others` does without colours, in a fifth of the time: most calls log two of them. Leaves
    lines with a traceback, or of another level, to `others`."""

    def __init__(self, others: logging.Formatter) -> None:
        super().__init__()
        self.others = others

    def format(self, record: logging.LogRecord) -> str:
        facts = record.__dict__.copy()
        _with_ids(None, "", facts)
        names = sorted(facts.keys() - _OF_ALL_RECORDS)
        is_plain = record.levelno == logging.INFO and not record.exc_info and not record.stack_info
        if not is_plain or not _COLUMNS.isdisjoint(names):
            return self.others.format(record)
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        event = _escaped(record.getMessage()).ljust(EVENT_WIDTH)
        pairs = _pairs(names, list(map(facts.__getitem__, names)))
        return f"{at} [info     ] {event} [{record.name}] {pairs}".rstrip(" ")


def _pairs(names: Sequence[str], values: Sequence[Any]) -> str:
    """name=value name=value …, in loops in C."""
    if _TEXTS_AND_NUMBERS.issuperset(map(type, values)):
        written = list(map(str, values))
        for at in compress(range(len(values)), map(_TO_BE_QUOTED, written)):
            written[at] = repr(values[at])
    else:
        written = list(map(_shown, values))
    return " ".join(map("{}={}".format, names, written))


def _shown(value: Any) -> str:
    return str.__str__(value) if isinstance(value, str) and not _TO_BE_QUOTED(value) else repr(value)


def line_formatter(style: str) -> logging.Formatter:
    """A formatter for the standard library's handlers; `extra={…}` becomes fields of the line."""
    if style == "json":
        return _structured(structlog.processors.format_exc_info, structlog.processors.JSONRenderer())
    if style == "console":
        # A plain traceback: a rich one shows the values of variables.
        is_terminal, plain = sys.stderr.isatty(), structlog.dev.plain_traceback
        console = structlog.dev.ConsoleRenderer(colors=is_terminal, pad_event_to=EVENT_WIDTH, exception_formatter=plain)
        lines = _structured(_on_one_line, console)
        return lines if is_terminal else PlainLines(lines)
    raise ValueError(f"LOG_FORMAT is {style!r}; expected console or json")


def _structured(*last: structlog.typing.Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last]
    )
