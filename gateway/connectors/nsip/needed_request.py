"""A request that the official client would send, and that Sluice sends instead."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import orjson

from gateway.upstreams.request import Request

HEADERS = {"accept": "application/json"}
JSON_HEADERS = {**HEADERS, "content-type": "application/json"}  # without it upstream returns 415


@dataclass(frozen=True)
class RequestNeeded(Exception):
    """ReplayClient raises it instead of sending the request."""

    method: str
    endpoint: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None

    def request(self, base_url: str) -> Request:
        """Equal queries give equal requests, whatever the order of their parameters (N-FR-009). All requests are
        repeatable, as none changes data at NSIP."""
        query = urlencode(sorted((name, _written(value)) for name, value in self.params.items() if value is not None))
        return Request(
            self.method,
            f"{base_url.rstrip('/')}/{self.endpoint}{'?' if query else ''}{query}",
            headers=HEADERS if self.body is None else JSON_HEADERS,
            body=b"" if self.body is None else orjson.dumps(self.body, option=orjson.OPT_SORT_KEYS),
            repeatable=True,
        )


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
