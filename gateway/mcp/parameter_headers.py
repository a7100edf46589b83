"""Arguments that a client repeats as `Mcp-Param-…` headers (MCP 2026-07-28, Streamable HTTP): those that a tool's
schema marks with `x-mcp-header`. The SDK compares both before each tools/call. Without `marked_schema` it would run a
whole tools/list to find the schema."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from context_protection.core.budget import dumps
from context_protection.core.policy import DEFAULTS
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.definition import ToolDefinition

MARK = b'"x-mcp-header":'
_caller: ContextVar[Caller | None] = ContextVar("caller_of_request", default=None)


@contextmanager
def request_of(caller: Caller) -> Iterator[None]:
    """Sets the caller for the block, because the SDK passes only the tool's name to `marked_schema`."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


def marked_schema(name: str) -> Mapping[str, Any] | None:
    """The schema of the tool, as lists show it, if it marks an argument. None for all other tools, and for a tool that
    is hidden from the caller, which must look as if it did not exist. Does not block."""
    caller = _caller.get()
    return _marked(name, caller) if caller is not None else None


def is_marked(name: str, caller: Caller) -> bool:
    """Whether the tool marks an argument, so that its headers must be compared."""
    return _marked(name, caller) is not None


def _marked(name: str, caller: Caller) -> Mapping[str, Any] | None:
    operation = catalogue.find(name, caller.tools.hidden)
    return _schema_if_marked(operation) if operation is not None else None


@lru_cache(maxsize=4096)
def _schema_if_marked(published: ToolDefinition) -> Mapping[str, Any] | None:
    schema = published.listed_schema(DEFAULTS)
    return schema if MARK in dumps(schema) else None
