"""A model of Anthropic's API, by the official client, which is installed with the extra `anthropic`."""

import logging
from typing import TYPE_CHECKING, Any

import httpx2

from gateway.connectors.codebase.model.language_model import (
    NOTHING_USED,
    ModelAnswer,
    ModelFailed,
    ModelPrompt,
    TokenUse,
    shown_name,
)
from gateway.threads.bridge import run_sync
from gateway.upstreams.network import tls_context

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message

logger = logging.getLogger(__name__)


class AnthropicModel:
    def __init__(self, name: str, key: str, address: str) -> None:
        self._name, self._key, self._address = name, key, address

    async def answer(self, prompt: ModelPrompt, most_written: int) -> ModelAnswer:
        await load()
        import anthropic

        try:
            async with self._client() as client:
                message = await client.messages.create(
                    model=self._name,
                    max_tokens=most_written,
                    system=prompt.rules,
                    messages=[{"role": "user", "content": prompt.material}],
                )
            return _read(message, most_written)
        except ModelFailed:
            raise
        except anthropic.APIStatusError as error:
            raise ModelFailed(f"the API answered with HTTP {error.status_code}") from None
        except anthropic.APIConnectionError as error:
            was_sent = not isinstance(error.__cause__, (httpx2.ConnectError, httpx2.ConnectTimeout))
            raise ModelFailed("the API cannot be reached", None if was_sent else NOTHING_USED) from None
        except Exception as error:  # the client does not validate what the API sends
            logger.warning("model's answer not readable", extra={"error": type(error).__name__})
            raise ModelFailed("the API's answer cannot be read", use=None) from None

    def _client(self) -> "AsyncAnthropic":
        """A new client for each call: connections belong to an event loop, and connecting takes little of the call's
        time. It does not retry, because each attempt may be billed, and follows no redirect, because that would pass on
        the key."""
        from anthropic import AsyncAnthropic

        http = httpx2.AsyncClient(verify=tls_context(), follow_redirects=False, timeout=None)
        return AsyncAnthropic(
            api_key=self._key, base_url=self._address, max_retries=0, http_client=http, open_telemetry=False
        )


async def load() -> None:
    """Imports the client, on a thread: that takes about a second. Raises ModelFailed if it is not installed."""
    await run_sync(_load)


def _load() -> None:
    try:
        import anthropic  # noqa: F401
    except ImportError:
        raise ModelFailed("the package anthropic is not installed on the server") from None
    tls_context()


def _read(message: "Message", most_written: int) -> ModelAnswer:
    model, usage = shown_name(message.model), message.usage
    cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    use = TokenUse(usage.input_tokens + cached, usage.output_tokens)
    if message.stop_reason == "refusal":
        raise ModelFailed("it refused", use, model)
    if message.stop_reason == "max_tokens":
        raise ModelFailed(f"its answer has more than {most_written:,} tokens", use, model)
    texts: list[Any] = [block.text for block in message.content if block.type == "text"]
    return ModelAnswer("".join(texts), model, use)
