"""The server behind the front, and what it is to see of a request."""

from dataclasses import dataclass
from urllib.parse import SplitResult

from starlette.requests import Request

OF_THE_CONNECTION = {"connection", "content-length", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True)
class Target:
    """The server behind. `own` is the front's host and port."""

    url: SplitResult
    key: str
    own: str

    def headers(self, request: Request) -> list[tuple[str, str]]:
        """A request's headers, as the server is to see them."""
        given = [(name, value.strip()) for name, value in request.headers.items() if name not in OF_THE_CONNECTION]
        named = [(name, self.renamed(value) if name in {"host", "origin"} else value) for name, value in given]
        return [*named, ("authorization", f"Bearer {self.key}")]

    def renamed(self, value: str) -> str:
        return value.replace(self.own, self.url.netloc)
