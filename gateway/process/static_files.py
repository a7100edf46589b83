"""Serves the static files of pages. Looks their paths up in memory."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from servestatic.middleware import ServeStaticMiddleware


class StaticFiles:
    """Finds files with servestatic's middleware, but is synchronous. With a single asynchronous middleware in the
    chain, Django would switch threads for it, and twice for each middleware above it."""

    sync_capable, async_capable = True, False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._served = ServeStaticMiddleware(_nothing_else)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        file = self._served.find_file(path) if self._served.autorefresh else self._served.files.get(path)
        return self._get_response(request) if file is None else _response(file, request)


async def _nothing_else(request: HttpRequest) -> HttpResponseBase:
    raise AssertionError("servestatic only finds files here, and answers no request")


def _response(file: Any, request: HttpRequest) -> HttpResponse:
    found = file.get_response(request.method or "GET", request.META)
    content = b""
    if found.file is not None:
        with found.file:
            content = found.file.read()
    response = HttpResponse(content, status=int(found.status))
    del response["content-type"]
    for name, value in found.headers:
        if value is not None:
            response[name] = value
    return response
