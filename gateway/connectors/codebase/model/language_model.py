"""A language model as the codebase tools see it: it takes a prompt and returns a text."""

from dataclasses import dataclass
from typing import Protocol

import orjson

from context_protection.core.tokens.bounds import most_tokens

_LONGEST_NAME = 100  # characters of a model's name
_OVERHEAD = 200  # tokens of a request besides its texts


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Tokens that a model has read and written."""

    read: int
    written: int


NOTHING_USED = TokenUse(0, 0)


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """`rules`: Sluice's instructions. `material`: the question or the task, with evidence from the project."""

    rules: str
    material: str

    @property
    def most_tokens(self) -> int:
        """An upper bound of the prompt's tokens, whichever model counts them."""
        data = orjson.dumps([self.rules, self.material])
        return (most_tokens(data) or 3 * len(data)) + _OVERHEAD


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """`model`: the name of the model that has answered."""

    text: str
    model: str
    use: TokenUse


class ModelFailed(Exception):
    """The model gave no answer, or none that can be used. `reason`: ends the sentence "The language model was not used:
    …". `use`: the tokens that are billed nevertheless; None if unknown."""

    def __init__(self, reason: str, use: TokenUse | None = NOTHING_USED, model: str = "") -> None:
        super().__init__(reason)
        self.reason, self.use, self.model = reason, use, model


class LanguageModel(Protocol):
    async def answer(self, prompt: ModelPrompt, most_written: int) -> ModelAnswer:
        """`most_written`: tokens that the answer may have. The caller limits the time, by cancelling this. Raises
        ModelFailed."""


def shown_name(model: str) -> str:
    """The name that a model reports for itself, in a printable form for answers."""
    return "".join(each for each in model if each.isprintable()).strip()[:_LONGEST_NAME] or "unknown"
