"""The model that the settings choose, with its prices and limits."""

from dataclasses import dataclass

from django.conf import settings

from gateway.connectors.codebase.model.anthropic_model import AnthropicModel, load
from gateway.connectors.codebase.model.client_model import ClientModel
from gateway.connectors.codebase.model.language_model import LanguageModel, TokenUse

CLIENT, ANTHROPIC = "client", "anthropic"
_PRICED_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """`price_read`, `price_written`: dollars for a million tokens. `most_written`: most tokens of an answer. `seconds`:
    longest time for an answer."""

    model: LanguageModel
    price_read: float
    price_written: float
    most_written: int
    seconds: float

    def cost(self, use: TokenUse) -> float:
        """Dollars."""
        return (use.read * self.price_read + use.written * self.price_written) / _PRICED_TOKENS


def asks_client() -> bool:
    return bool(settings.CODEBASE_MODEL == CLIENT)


async def load_model() -> None:
    """Imports what the chosen model needs."""
    if settings.CODEBASE_MODEL == ANTHROPIC:
        await load()


def chosen_model() -> ChosenModel | None:
    """None if the local engine answers alone."""
    model = _model()
    if model is None:
        return None
    return ChosenModel(
        model=model,
        price_read=settings.CODEBASE_MODEL_INPUT_PRICE,
        price_written=settings.CODEBASE_MODEL_OUTPUT_PRICE,
        most_written=settings.CODEBASE_MODEL_MAX_TOKENS,
        seconds=settings.CODEBASE_MODEL_SECONDS,
    )


def _model() -> LanguageModel | None:
    name = settings.CODEBASE_MODEL_NAME
    if settings.CODEBASE_MODEL == CLIENT:
        return ClientModel(name)
    if settings.CODEBASE_MODEL == ANTHROPIC:
        return AnthropicModel(name, settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL)
    return None
