"""Where Sluice connects to."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from gateway.upstreams import addresses
from gateway.upstreams.addresses import PRIVATE_TOO, PUBLIC_ONLY, allowed_networks, check_url, is_public
from gateway.upstreams.errors import AddressRefused

INNER = [
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "0.0.0.0",
    "0.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.0.8",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "192.88.99.1",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
OUTER = ["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"]


@pytest.mark.parametrize("spelled", INNER)
def test_what_is_not_public_is_refused(spelled: str):
    assert not PUBLIC_ONLY.permits(ip_address(spelled))


@pytest.mark.parametrize("spelled", OUTER)
def test_what_is_public_is_connected_to(spelled: str):
    assert PUBLIC_ONLY.permits(ip_address(spelled))


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_public(address: addresses.Address):
    assert address.is_global or not is_public(address)


@pytest.mark.parametrize("spelled", ["127.0.0.1", "10.1.2.3", "172.20.0.1", "192.168.0.1", "::1", "fd12::1"])
def test_private_addresses_can_be_allowed(spelled: str):
    assert PRIVATE_TOO.permits(ip_address(spelled))


@pytest.mark.parametrize("spelled", ["169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.64.0.1", "fe80::1"])
def test_allowing_private_addresses_does_not_allow_a_clouds_own(spelled: str):
    assert not PRIVATE_TOO.permits(ip_address(spelled))


def test_networks_are_allowed_precisely(settings: Settings):
    settings.ALLOW_PRIVATE_UPSTREAMS = ["10.1.2.0/24", ip_network("169.254.7.0/24")]
    allowed = addresses.allowed()
    assert allowed.permits(ip_address("10.1.2.255"))
    assert not allowed.permits(ip_address("10.1.3.0"))
    assert not allowed.permits(ip_address("127.0.0.1"))
    assert allowed.permits(ip_address("169.254.7.1"))
    assert not allowed.permits(ip_address("169.254.169.254"))
    assert not allowed.permits(ip_address("::ffff:10.1.2.3"))


def test_nothing_private_is_allowed_unless_the_setting_says_so(settings: Settings):
    settings.ALLOW_PRIVATE_UPSTREAMS = False
    assert addresses.allowed() == PUBLIC_ONLY
    del settings.ALLOW_PRIVATE_UPSTREAMS
    assert addresses.allowed() == PUBLIC_ONLY
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    assert addresses.allowed() == PRIVATE_TOO


def test_the_environment_says_yes_no_or_which():
    assert [allowed_networks(each) for each in ("", "false", "NO", "0")] == [False] * 4
    assert [allowed_networks(each) for each in ("true", "Yes", " on ", "1")] == [True] * 4
    assert allowed_networks("127.0.0.1, 10.1.2.0/24") == (ip_network("127.0.0.1/32"), ip_network("10.1.2.0/24"))


@pytest.mark.parametrize("odd", ["ture", "10.1.2.3/24", "10.0.0.0/8,", "localhost", "*", "2"])
def test_an_odd_value_of_the_environment_is_refused_and_not_read_as_no(odd: str):
    with pytest.raises(ValueError, match="expected true, false, or networks"):
        allowed_networks(odd)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://localhost:8000/",
        "http://LOCALHOST./",
        "http://api.localhost/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://①②⑦.⓪.⓪.①/",
        "https://169.254.169.254/latest/meta-data/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "//example.com/",
        "example.com",
        "http://",
        "http://example.com:99999/",
        "http://example.com:0/",
        "http://good.example@127.0.0.1/",
        "https://user:secret-word@example.com/",
        "http://[::1/",
        "http://exa mple.com/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com/\r\nHost: evil",
        "http://example.com/\tx",
    ],
)
def test_an_address_that_leads_inside_or_nowhere_is_not_saved(url: str):
    with pytest.raises(AddressRefused) as refusal:
        check_url(url)
    assert refusal.value.reason == "upstream_address"
    assert "secret-word" not in str(refusal.value.document())


@pytest.mark.parametrize(
    "url",
    ["https://api.example.com/v1", "http://8.8.8.8:8080", "https://[2606:4700::1111]/", "https://bücher.example/"],
)
def test_an_address_on_the_internet_is_saved(url: str):
    check_url(url)


def test_a_private_address_is_saved_where_its_network_is_allowed(settings: Settings):
    settings.ALLOW_PRIVATE_UPSTREAMS = ["127.0.0.0/8"]
    check_url("http://127.0.0.1:9000/api")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://Example.com:443/a", "https://example.com/b"),
        ("http://example.com:80", "http://example.com./"),
    ],
)
def test_equal_origins_are_equal_however_they_are_spelled(one: str, other: str):
    assert addresses.origin(addresses.split(one)) == addresses.origin(addresses.split(other))


@pytest.mark.parametrize("other", ["http://example.com", "https://example.com:444", "https://example.com.evil"])
def test_other_origins_are_others(other: str):
    assert addresses.origin(addresses.split("https://example.com")) != addresses.origin(addresses.split(other))
