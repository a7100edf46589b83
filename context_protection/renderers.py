"""The JSON renderer of Django REST framework that keeps what was protected: the body is written once, before."""

from typing import Any

from rest_framework.renderers import BaseRenderer

from context_protection.budget import dumps
from context_protection.payloads import Envelope


class ProtectedJSONRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None  # JSON is UTF-8

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        if isinstance(data, Envelope):
            return data.body
        return b"" if data is None else dumps(data)
