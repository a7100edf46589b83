"""A JSON renderer for Django REST framework that limits the size of responses.

Responses that are already protected (a list by WalkPagination, a result of the gateway's dispatcher) are written
unchanged, because their body is already rendered. The single object that a view returns for a GET is protected here:
above its budget it becomes a preview with sections, and `fields` selects parts of it.
"""

from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer

from context_protection.core.budget import dumps
from context_protection.core.errors import CallError
from context_protection.core.json_values import plain, written
from context_protection.core.payloads import Envelope
from context_protection.values import protect_value


class Written(dict[str, Any]):
    """A protected response that any renderer can write. Our renderer writes exactly the body that was measured."""

    def __init__(self, envelope: Envelope) -> None:
        super().__init__(orjson.loads(envelope.body))
        self.envelope = envelope


class ProtectedJSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None  # JSON is UTF-8

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        if isinstance(data, Envelope):
            return data.body
        if isinstance(data, Written):
            return data.envelope.body
        if data is None:
            return b""
        context = renderer_context or {}
        response, request = context.get("response"), context.get("request")
        is_get = request is not None and request.method == "GET" and response is not None
        if isinstance(data, dict) and is_get and response.status_code == 200:  # type: ignore[union-attr]
            return self._protected(data, request, response)
        return written(data)

    def _protected(self, data: dict[str, Any], request: Any, response: Any) -> bytes:
        try:
            return protect_value(request, plain(data)).body
        except CallError as error:
            response.status_code = error.status
            return dumps(error.document())
