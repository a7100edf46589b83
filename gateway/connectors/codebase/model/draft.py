"""The result of the local engine: its answer, and what a model needs to improve it. Both are passed between
processes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.connectors.codebase.model.language_model import ModelPrompt

Document = Mapping[str, Any]


class AnswerRejected(Exception):
    """A model's answer that cannot be used. The message ends a sentence: "… was not used: it cites no line"."""


class Evidence(Protocol):
    @property
    def prompt(self) -> ModelPrompt: ...

    def improved(self, document: Document, text: str) -> dict[str, Any]:
        """The document with the model's text, if the evidence supports all of it. Raises AnswerRejected."""


@dataclass(frozen=True, slots=True)
class Draft:
    """`evidence`: None if no model is to be asked."""

    document: dict[str, Any]
    evidence: Evidence | None = None
