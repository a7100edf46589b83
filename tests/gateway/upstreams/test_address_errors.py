"""Every error of an upstream's address, in full; none of them quotes a credential."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstreams import addresses
from gateway.upstreams.errors import AddressRefused


@pytest.mark.parametrize(
    ("url", "expected", "shown"),
    [
        ("https://a.example:99999/v1", "an address like https://api.example.com/v1", "https://a.example:99999/v1"),
        ("https://[::1/v1", "an address like https://api.example.com/v1", "https://[::1/v1"),
        ("ftp://a.example/v1", "an absolute http or https address", "ftp://a.example/v1"),
        ("a.example/v1?key=s3cret", "an absolute http or https address", "a.example/v1"),
        ("https:///v1", "an absolute http or https address", "https:///v1"),
        ("https://a.example:0/v1", "an absolute http or https address", "https://a.example:0/v1"),
        (
            "https://me:s3cret@a.example/v1?key=s3cret",
            "an address without user or password; enter credentials in their own fields",
            "https://a.example/v1",
        ),
        (
            "https://a.example/v 1",
            "an address without spaces, backslashes and control characters",
            "https://a.example/v 1",
        ),
        (
            "https://a.example\\@b.example",
            "an address without user or password; enter credentials in their own fields",
            "https://b.example",
        ),
        (
            "https://a.example/a\\b",
            "an address without spaces, backslashes and control characters",
            "https://a.example/a\\b",
        ),
        (
            "https://a.example/\u200b",
            "an address without spaces, backslashes and control characters",
            "https://a.example/\u200b",
        ),
    ],
)
def test_an_address_that_cannot_be_used(url: str, expected: str, shown: str):
    with pytest.raises(AddressRefused) as raised:
        addresses.check_url(url)
    assert raised.value.document()["error"] == {
        "code": raised.value.code,
        "reason": "upstream_address",
        "message": "Sluice does not connect to this address.",
        "data": {"parameter": "url", "value": shown, "expected": expected},
    }
    assert "s3cret" not in str(raised.value.document())


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "api.localhost", "127.1", "0x7f.1", "2130706433", "10.0.0.1"]
)
def test_a_private_address(host: str, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = False
    with pytest.raises(AddressRefused) as raised:
        addresses.check_url(f"https://{host}/v1")
    shown = host.lower()
    assert raised.value.document()["error"] == {
        "code": raised.value.code,
        "reason": "upstream_address",
        "message": f"{shown} is a private or reserved address, which Sluice does not connect to.",
        "data": {
            "expected": "a host on public addresses",
            "suggestion": "If this address is intended, the operator can allow its network in ALLOW_PRIVATE_UPSTREAMS.",
        },
    }
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    addresses.check_url(f"https://{host}/v1")


@pytest.mark.parametrize("host", ["api.example.com", "localhost.example.com", "93.184.216.34", "1.2.3.4.example"])
def test_names_and_public_addresses_are_saved(host: str):
    addresses.check_url(f"https://{host}/v1")


@pytest.mark.parametrize(
    ("spelled", "allowed"),
    [
        ("", False),
        ("0", False),
        ("No", False),
        (" off ", False),
        ("1", True),
        ("TRUE", True),
        ("yes", True),
        ("on", True),
    ],
)
def test_words_allow_all_private_networks_or_none(spelled: str, allowed: bool):
    assert addresses.allowed_networks(spelled) is allowed


def test_networks_are_allowed_one_by_one():
    networks = addresses.allowed_networks("10.1.2.0/24, fd00::/8")
    assert [str(each) for each in networks] == ["10.1.2.0/24", "fd00::/8"]


@pytest.mark.parametrize("spelled", ["maybe", "10.1.2.3/24", "10.1.2.0/24,,"])
def test_what_is_no_network_is_named(spelled: str):
    with pytest.raises(ValueError, match=r"is not a network; expected true, false, or networks like 10\.1\.2\.0/24"):
        addresses.allowed_networks(spelled)


def test_a_host_in_ascii():
    assert addresses.ascii_host(addresses.split("https://bücher.example/")) == "xn--bcher-kva.example"
    assert addresses.ascii_host(addresses.split("https://Api.Example/")) == "api.example"
    with pytest.raises(AddressRefused) as raised:
        addresses.ascii_host(addresses.split(f"https://{'ü' * 70}.example/"))
    assert raised.value.expected == "a host name"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://Api.Example.com./v1", "https://api.example.com"),
        ("https://api.example.com:443/", "https://api.example.com"),
        ("https://api.example.com:8443/", "https://api.example.com:8443"),
        ("http://api.example.com:443/", "http://api.example.com:443"),
        ("http://[2001:DB8::1]:80/v1", "http://[2001:db8::1]"),
        ("https://[2001:db8::1]:8443/v1", "https://[2001:db8::1]:8443"),
    ],
)
def test_the_origin_of_an_address(url: str, expected: str):
    assert addresses.origin(addresses.split(url)) == expected


PIECES = [
    "http",
    "HTTPS",
    "ftp",
    "://",
    ":",
    "//",
    "/",
    "?",
    "#",
    "@",
    "[",
    "]",
    "::1",
    "Api.Example",
    "ü.example",
    ".",
    "1",
]
PIECES += [".", "1", ":80", ":443", ":0", ":99999", "%2F", "a b", "\\", "\t", "\n", "\u2100", "\x7f", ";", "=", "&", ""]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), st.sampled_from(["", "http://h", "https://h:8443/"]))
def test_an_address_is_located_where_urllib_finds_it(rest: str, beginning: str):
    """Origins are remembered, so that an address is not taken apart each time it is called."""
    url = beginning + rest
    try:
        parts = addresses.split(url)
        host = addresses.ascii_host(parts)
    except AddressRefused:
        with pytest.raises(AddressRefused):
            addresses.locate(url)
        return
    located = addresses.locate(url)
    assert located.target == (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    assert (located.origin.text, located.origin.host) == (addresses.origin(parts), host)
    assert located.origin.port == parts.port or (parts.port is None and located.origin.port in (80, 443))


@pytest.mark.parametrize(
    ("url", "authority", "target"),
    [
        ("https://Api.Example.com:443", "api.example.com", "/"),
        ("http://api.example.com:443/?", "api.example.com:443", "/"),
        ("https://[2001:DB8::1]:8443?a=1#b", "[2001:db8::1]:8443", "/?a=1"),
        ("https://bücher.example/a%2Fb//c?q=/?#x?y", "xn--bcher-kva.example", "/a%2Fb//c?q=/?"),
    ],
)
def test_what_a_request_names_of_an_address(url: str, authority: str, target: str):
    located = addresses.locate(url)
    assert (located.origin.authority, located.target) == (authority, target)
