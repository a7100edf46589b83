"""Redirects are followed like first requests, what was meant for one origin goes to no other, and each exchange has a
line in the log."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import AddressRefused, UpstreamCredentials, UpstreamError, UpstreamGarbled
from gateway.upstreams.exchange import MAX_HOPS, follow
from gateway.upstreams.failures import UpstreamFailures
from gateway.upstreams.request import Request, Response, Send
from tests.gateway.upstreams.conftest import failed, get
from tests.simulators.bad_upstream import BadUpstream, bad_upstream

Make = Callable[..., Upstream]
KEY = "s3cr3t-w0rd"


class KeyInHeaderAndQuery:
    secrets: Sequence[str] = (KEY,)

    async def apply(self, request: Request, send: Send) -> Request:
        url = f"{request.url}{'&' if '?' in request.url else '?'}key={KEY}"
        return replace(request, url=url, headers={**request.headers, "authorization": f"Bearer {KEY}"})

    async def renewed(self, refused: Response, send: Send) -> bool:
        return False


@pytest.fixture
def other() -> Iterator[BadUpstream]:
    with bad_upstream() as upstream:
        yield upstream


def trusting(*known: BadUpstream) -> Upstream:
    return Upstream("Acme", authentication=KeyInHeaderAndQuery(), trusted=frozenset(each.url for each in known))


def redirected(bad: BadUpstream, status: int = 302) -> Request:
    return Request("GET", f"{bad.url}/redirect/{status}", {"X-Tenant": "7", "Accept": "text/plain"})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_at_home_is_followed_with_its_headers_and_credentials(bad: BadUpstream, status: int):
    bad.location = "/echo?a=1#fragment"
    seen = (await trusting(bad).fetch(redirected(bad, status))).json()
    assert (seen["path"], seen["query"]) == ("/echo", f"a=1&key={KEY}")
    assert seen["headers"]["authorization"] == f"Bearer {KEY}"
    assert seen["headers"]["x-tenant"] == "7"


async def test_credentials_do_not_cross_to_another_origin(bad: BadUpstream, other: BadUpstream):
    bad.location = f"{other.url}/echo"
    await trusting(bad, other).fetch(redirected(bad))
    (request,) = other.requests
    assert KEY not in str(request)
    assert "x-tenant" not in request.headers
    assert request.headers["accept"] == "text/plain"


async def test_nor_do_they_when_that_origin_redirects_to_itself(bad: BadUpstream, other: BadUpstream):
    bad.location, other.location = f"{other.url}/redirect/302", "/echo"
    await trusting(bad, other).fetch(redirected(bad))
    assert [each.path for each in other.requests] == ["/redirect/302", "/echo"]
    assert KEY not in str(other.requests)


async def test_they_do_not_come_back_with_a_redirect_that_comes_back(bad: BadUpstream, other: BadUpstream):
    bad.location, other.location = f"{other.url}/redirect/302", f"{bad.url}/echo"
    seen = (await trusting(bad, other).fetch(redirected(bad))).json()
    assert KEY not in str(seen)


async def test_an_address_that_carries_them_elsewhere_is_not_followed(bad: BadUpstream, other: BadUpstream):
    bad.location = f"{other.url}/echo?back={KEY}"
    with pytest.raises(UpstreamGarbled, match="with credentials in the address"):
        await trusting(bad, other).fetch(redirected(bad))
    assert other.connections == 0


@pytest.mark.parametrize(
    ("method", "status", "then"),
    [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("PUT", 303, "GET"),
        ("DELETE", 303, "GET"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("PUT", 302, "PUT"),
        ("HEAD", 303, "HEAD"),
    ],
)
async def test_methods_change_as_the_fetch_standard_has_it(bad: BadUpstream, method: str, status: int, then: str):
    bad.location = "/echo"
    body = b"" if method == "HEAD" else b"x=1"
    request = Request(method, f"{bad.url}/redirect/{status}", {"Content-Type": "text/x"}, body)
    await trusting(bad).fetch(request)
    last = bad.requests[-1]
    assert (last.method, last.body) == (then, b"" if then == "GET" else body)
    assert ("content-type" in last.headers) == (then != "GET")


async def test_a_body_is_not_sent_to_another_origin(bad: BadUpstream, other: BadUpstream):
    bad.location = f"{other.url}/echo"
    with pytest.raises(UpstreamGarbled, match="with a body to another origin"):
        await trusting(bad, other).fetch(Request("POST", f"{bad.url}/redirect/307", body=b"client_secret=1"))
    assert other.connections == 0


async def test_a_redirect_to_a_private_address_is_refused(bad: BadUpstream, other: BadUpstream):
    bad.location = f"{other.url}/ok"
    with pytest.raises(AddressRefused):
        await trusting(bad).fetch(redirected(bad))
    assert other.connections == 0


async def test_a_redirect_to_a_clouds_metadata_is_refused_also_by_who_is_trusted(bad: BadUpstream):
    with pytest.raises(AddressRefused):
        await trusting(bad).fetch(Request("GET", f"{bad.url}/metadata"))


async def test_a_loop_of_redirects_ends(bad: BadUpstream):
    with pytest.raises(UpstreamGarbled, match="more than 5 times") as failure:
        await trusting(bad).fetch(Request("GET", f"{bad.url}/loop"))
    assert failure.value.reason == "upstream_redirect"
    assert bad.count == MAX_HOPS + 1


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "javascript:alert(1)", "http://[::1", "http://u:p@127.0.0.1/"]
)
async def test_a_redirect_to_what_is_no_web_address_is_refused(bad: BadUpstream, location: str):
    bad.location = location
    with pytest.raises(UpstreamError) as failure:
        await trusting(bad).fetch(redirected(bad))
    assert failure.value.reason == "upstream_redirect"


async def test_a_redirect_to_nowhere_is_said_so(bad: BadUpstream):
    bad.status = 302
    with pytest.raises(UpstreamGarbled, match="without an address"):
        await trusting(bad).fetch(Request("GET", f"{bad.url}/given"))


async def hops(start: str, *locations: str) -> list[tuple[str, bool]]:
    """Where a request is sent, and whether at home, when the answers lead to these."""
    sent: list[tuple[str, bool]] = []

    async def hop(request: Request, at_home: bool) -> Response:
        sent.append((request.url, at_home))
        if len(sent) > len(locations):
            return Response(200, {}, b"")
        return Response(302, {"location": locations[len(sent) - 1]}, b"")

    await follow(Request("GET", start), hop, UpstreamFailures("Acme", KeyInHeaderAndQuery()), ())
    return sent


async def test_from_https_none_goes_to_http_and_from_http_any_goes_to_https():
    with pytest.raises(UpstreamGarbled, match="from https to http"):
        await hops("https://a.example/x", "http://a.example/x")
    assert (await hops("http://a.example/x", "https://a.example/x"))[1] == ("https://a.example/x", False)


@pytest.mark.parametrize(
    ("location", "url", "at_home"),
    [
        ("y?q=ü b", "https://a.example/v1/y?q=%C3%BC%20b", True),
        ("../z", "https://a.example/z", True),
        ("//b.example/", "https://b.example/", False),
        ("https://A.example:443/x%2Fy", "https://A.example:443/x%2Fy", True),
        ("https://a.example:444/", "https://a.example:444/", False),
        ("https://a.example.evil/", "https://a.example.evil/", False),
    ],
)
async def test_where_a_redirect_leads_is_read_as_browsers_do(location: str, url: str, at_home: bool):
    assert (await hops("https://a.example/v1/x", location))[1] == (url, at_home)


# -- Credentials --------------------------------------------------------------------------------------


class Token:
    """Fetches a token where there is none; another after a refusal, if there may be one."""

    def __init__(self, bad: BadUpstream, renewable: bool = True) -> None:
        self.bad, self.renewable, self.secrets = bad, renewable, ["old-t0ken"]

    async def apply(self, request: Request, send: Send) -> Request:
        await send(Request("POST", f"{self.bad.url}/echo", body=b"grant_type=x"))
        return replace(request, headers={**request.headers, "authorization": self.secrets[-1]})

    async def renewed(self, refused: Response, send: Send) -> bool:
        self.secrets = [*self.secrets, "new-t0ken"]
        return self.renewable


@pytest.mark.parametrize("status", [401, 403])
async def test_a_request_that_is_refused_is_sent_once_more_with_new_credentials(
    bad: BadUpstream, acme: Make, status: int
):
    bad.status = status
    error = await failed(acme(authentication=Token(bad)), Request("POST", f"{bad.url}/given"))
    tried = [each.headers["authorization"] for each in bad.requests if each.path == "/given"]
    assert tried == ["old-t0ken", "new-t0ken"]
    assert all("authorization" not in each.headers for each in bad.requests if each.path == "/echo")
    assert isinstance(error, UpstreamCredentials)


@pytest.mark.parametrize("status", [401, 403])
async def test_credentials_that_are_not_taken_are_the_operators_to_mend(bad: BadUpstream, acme: Make, status: int):
    bad.status, bad.body = status, b'{"error": "old-t0ken has expired"}'
    error = await failed(acme(authentication=Token(bad, renewable=False)), get(bad, "/given"))
    assert (error.reason, error.status) == ("upstream_credentials", 502)
    assert "operator" in error.suggestion
    assert error.upstream == {"status": status, "message": "*** has expired"}
    assert sum(each.path == "/given" for each in bad.requests) == 1


# -- The log ------------------------------------------------------------------------------------------


async def test_every_exchange_has_a_line_in_the_log_without_what_is_private(
    bad: BadUpstream, acme: Make, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "gateway.upstreams")
    bad.failures = 1
    upstream = acme(authentication=Token(bad, renewable=False))
    path = "/flap/old-t0ken?guest=secret-word"
    await upstream.fetch(get(bad, path, headers={"X": "secret-word"}, body=b"secret-word"))
    lines = [record.__dict__ for record in caplog.records if record.__dict__.get("path", "").startswith("/flap")]
    assert [(line["upstream"], line["method"], line["path"]) for line in lines] == [("Acme", "GET", "/flap/***")] * 2
    assert [(line["attempt"], line["status"], line["outcome"]) for line in lines] == [
        (1, 503, "answered"),
        (2, 200, "answered"),
    ]
    assert all(line["ms"] > 0 for line in lines)
    assert "secret-word" not in str([record.__dict__ for record in caplog.records])
    assert "old-t0ken" not in str([record.__dict__ for record in caplog.records])


async def test_an_exchange_that_fails_has_its_line_too(bad: BadUpstream, acme: Make, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "gateway.upstreams")
    await failed(acme(), get(bad, "/truncated"))
    assert [record.__dict__["outcome"] for record in caplog.records] == ["upstream_garbled"]
