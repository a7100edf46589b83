"""Request bodies of the REST API."""

from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from context_protection.core import json_limits


class StrictJSONParser(BaseParser):
    """Strict JSON: unlike the stock parser, it rejects NaN, lone surrogates, and too many values or levels."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> Any:
        try:
            return json_limits.loads(stream.read())
        except ValueError as error:
            raise ParseError(str(error)) from None
