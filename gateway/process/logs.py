"""Log lines: for people (coloured in a terminal only), or JSON for collectors (`LOG_FORMAT=json`)."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from gateway.process import place
from gateway.tracing import identity, spans

COLOUR_MESSAGE = "color_message"  # uvicorn's message once more, with colour codes


def _with_ids(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Adds the ids of the request or call that the line was logged in, and which of several workers logs it."""
    event.pop(COLOUR_MESSAGE, None)
    if place.is_worker():
        event["worker"] = place.name_of(place.number())
    for name, value in (("request_id", identity.request_id.get()), ("trace_id", spans.trace_id())):
        if value:
            event.setdefault(name, value)
    return event


def _on_one_line(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escapes control characters of the event, which could look like another line or move a terminal's cursor."""
    text = str(event["event"])
    if not text.isprintable():
        event["event"] = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return event


SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    _with_ids,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def line_formatter(style: str) -> logging.Formatter:
    """A formatter for the standard library's handlers; `extra={…}` becomes fields of the line."""
    if style == "json":
        last: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
    elif style == "console":
        # A plain traceback: a rich one shows the values of variables.
        is_terminal, plain = sys.stderr.isatty(), structlog.dev.plain_traceback
        last = [
            _on_one_line,
            structlog.dev.ConsoleRenderer(colors=is_terminal, pad_event_to=34, exception_formatter=plain),
        ]
    else:
        raise ValueError(f"LOG_FORMAT is {style!r}; expected console or json")
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last]
    )
