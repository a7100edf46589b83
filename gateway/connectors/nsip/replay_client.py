"""The official client without its I/O, for a request that Sluice sends."""

from typing import Any

from nsip_client import NSIPClient

from gateway.connectors.nsip.needed_request import RequestNeeded

_UNANSWERED: Any = object()


class ReplayClient(NSIPClient):
    """A client for one request: raises RequestNeeded, or reads the given answer."""

    def __init__(self, answer: Any = _UNANSWERED) -> None:
        self._answer = answer  # without super().__init__(), which would open a session

    def _make_request(
        self,
        method: str,
        endpoint: str,
        params: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
        json: dict[str, Any] | None = None,
    ) -> Any:
        if self._answer is _UNANSWERED:
            raise RequestNeeded(method, endpoint, params or {}, json)
        return self._answer
