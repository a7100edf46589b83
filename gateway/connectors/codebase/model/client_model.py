"""The model of the client that made the call, by MCP's sampling. Before MCP 2026-07-28, Sluice sends the client a
request. Since then, the call's answer asks for input, and the client repeats the call with it."""

import mcp.types as types

from context_protection.core.tokens import claude
from gateway.connectors.codebase.model.language_model import (
    ModelAnswer,
    ModelFailed,
    ModelPrompt,
    TokenUse,
    shown_name,
)
from gateway.dispatch.asker import Asker
from gateway.threads.bridge import run_sync

_LONGEST_REASON = 200  # characters


class ClientModel:
    """The client reports no token counts, so the tokens are counted here."""

    def __init__(self, hint: str) -> None:
        self._preferences = types.ModelPreferences(hints=[types.ModelHint(name=hint)])

    async def answer(self, prompt: ModelPrompt, most_written: int) -> ModelAnswer:
        asker = Asker.within_the_time_of_this_call()
        answer = await asker.answer(self._request(prompt, most_written))
        if isinstance(answer, types.ErrorData):
            raise ModelFailed(_reason(answer, asker.lacking))
        content = getattr(answer, "content", None)
        if not isinstance(answer, types.CreateMessageResult) or not isinstance(content, types.TextContent):
            raise ModelFailed("the client's model answered with something other than a text", use=None)
        use = await run_sync(_use, prompt, content.text)
        if use.written > most_written:
            raise ModelFailed(f"its answer has more than {most_written:,} tokens", use, shown_name(answer.model))
        return ModelAnswer(content.text, shown_name(answer.model), use)

    def _request(self, prompt: ModelPrompt, most_written: int) -> types.CreateMessageRequest:
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt.material))
        return types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[message],
                system_prompt=prompt.rules,
                max_tokens=most_written,
                model_preferences=self._preferences,
            )
        )


def _use(prompt: ModelPrompt, text: str) -> TokenUse:
    return TokenUse(claude.count(prompt.rules) + claude.count(prompt.material), claude.count(text))


def _reason(error: types.ErrorData, lacking: str) -> str:
    if lacking:
        return f"this call's client, or the connection to it, does not offer {lacking}"
    message = "".join(each if each.isprintable() else " " for each in error.message)[:_LONGEST_REASON]
    return f'the client answered "{message}"'
