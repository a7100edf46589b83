"""How servers answer a session that they do not know, if not with 404 as MCP specifies it."""

from typing import Any

from starlette.responses import JSONResponse


def with_bad_request(application: Any, error: dict[str, Any] | None) -> Any:
    """The application, whose 404 becomes 400 with this JSON; itself if there is none."""
    if error is None:
        return application

    async def changed(scope: Any, receive: Any, send: Any) -> None:
        is_replaced = False

        async def sent(message: Any) -> None:
            nonlocal is_replaced
            if message.get("status") == 404:
                is_replaced = True
                await JSONResponse(error, 400)(scope, receive, send)
            elif not is_replaced:
                await send(message)

        await application(scope, receive, sent)

    return changed
