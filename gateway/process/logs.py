"""Log lines: `key=value` for people, JSON for collectors (`LOG_FORMAT=json`)."""

import logging

import structlog

SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def line_formatter(style: str) -> logging.Formatter:
    """A formatter for the standard library's handlers; `extra={…}` becomes fields of the line."""
    if style not in {"console", "json"}:
        raise ValueError(f"LOG_FORMAT is {style!r}; expected console or json")
    renderer = (
        structlog.processors.JSONRenderer()
        if style == "json"
        else structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "logger", "event"])
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
