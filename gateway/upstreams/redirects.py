"""Redirects, as in the Fetch standard but stricter: every hop is checked like a first request, and no body, credential
or private header goes to another origin."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from urllib.parse import quote, urljoin

from gateway.upstreams.addresses import origin, split
from gateway.upstreams.errors import AddressRefused
from gateway.upstreams.exchanges import Request, Response
from gateway.upstreams.failures import Failures

STATUSES = frozenset({301, 302, 303, 307, 308})
MOST_HOPS = 5
CROSS_ORIGINS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
OF_A_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location"})
RESERVED = "%:/?#[]@!$&'()*+,;=~"

Hop = Callable[[Request, bool], Awaitable[Response]]


async def follow(request: Request, hop: Hop, failures: Failures, secrets: Sequence[str]) -> Response:
    """Sends each request with `hop(request, at_home)`, which adds credentials only if `at_home`: the origin has never
    changed. Raises UpstreamError."""
    at_home = True
    for _ in range(MOST_HOPS + 1):
        response = await hop(request, at_home)
        if response.status not in STATUSES:
            return response
        if "location" not in response.headers:
            raise failures.garbled("a redirect to nowhere")
        following = _following(request, response, failures, secrets)
        at_home = at_home and _origin(following) == _origin(request)
        request = following
    raise failures.redirected(f"more than {MOST_HOPS} times")


def _following(request: Request, response: Response, failures: Failures, secrets: Sequence[str]) -> Request:
    url = _target(request, response, failures)
    following = replace(request, url=url)
    if _becomes_get(request.method, response.status):
        headers = {name: value for name, value in request.headers.items() if name.lower() not in OF_A_BODY}
        following = replace(following, method="GET", body=b"", headers=headers)
    if _origin(following) == _origin(request):
        return following
    if following.body:
        raise failures.redirected("a request with a body to another origin")
    if any(secret in url or quote(secret, safe="") in url for secret in secrets if secret):
        raise failures.redirected("to another origin with credentials in the address")
    headers = {name: value for name, value in following.headers.items() if name.lower() in CROSS_ORIGINS}
    return replace(following, headers=headers)


def _target(request: Request, response: Response, failures: Failures) -> str:
    try:
        url = urljoin(request.url, response.headers["location"].partition("#")[0].strip())
        url = quote(url, safe=RESERVED)
        scheme = split(url).scheme
    except (ValueError, AddressRefused):
        raise failures.redirected("to what is no web address") from None
    if split(request.url).scheme == "https" and scheme == "http":
        raise failures.redirected("from https to http")
    return url


def _becomes_get(method: str, status: int) -> bool:
    return (status in (301, 302) and method == "POST") or (status == 303 and method not in ("GET", "HEAD"))


def _origin(request: Request) -> str:
    return origin(split(request.url))
