"""Checks answers against their published schemas before they are sent."""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs


class AnswerInvalid(Exception):
    """An answer breaks its own schema: a bug in Sluice, which the caller cannot correct."""


class AnswerSchema:
    """A JSON Schema, compiled once."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._validator = jsonschema_rs.validator_for(dict(schema))

    def checked(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document. Raises AnswerInvalid, which names the place but not the value."""
        error = next(iter(self._validator.iter_errors(document)), None)
        if error is not None:
            place = ".".join(map(str, error.instance_path)) or "the answer"
            raise AnswerInvalid(f"{place} breaks the schema by its {error.kind.name}.")
        return document
