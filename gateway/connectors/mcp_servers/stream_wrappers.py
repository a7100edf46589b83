"""Base classes for wrappers of a server's message streams. A wrapper closes and ends with the stream that it wraps."""

from abc import ABC, abstractmethod
from typing import Any, Self


class StreamWrapper:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> bool | None:
        left: bool | None = await self.inner.__aexit__(*raised)
        return left


class ReceiveWrapper(StreamWrapper, ABC):
    """Returns each message as `passed` makes it."""

    @abstractmethod
    async def passed(self, item: Any) -> Any: ...

    @property
    def last_context(self) -> Any:
        return getattr(self.inner, "last_context", None)

    async def receive(self) -> Any:
        return await self.passed(await self.inner.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return await self.passed(await self.inner.__anext__())
