"""What is connected to is an address that has been looked at: a canary on this machine counts who comes."""

import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pytest_django.fixtures import Settings

from gateway.upstreams import network
from gateway.upstreams.addresses import PRIVATE_TOO
from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import AddressRefused, UpstreamUnavailable
from gateway.upstreams.request import Request
from tests.gateway.upstreams.conftest import Names
from tests.simulators.bad_upstream import BadUpstream, bad_upstream
from tests.simulators.shop import shop

SPELLINGS = [
    "127.0.0.1",
    "localhost",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "127.0.0.1.",
    "①②⑦.⓪.⓪.①",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "good.example@127.0.0.1",
]


@pytest.mark.parametrize("host", SPELLINGS)
async def test_no_spelling_of_a_host_leads_inside(bad: BadUpstream, host: str):
    with pytest.raises((AddressRefused, UpstreamUnavailable)):
        await Upstream("Acme").fetch(Request("GET", f"http://{host}:{bad.port}/ok"))
    assert bad.connections == 0


async def test_a_name_of_several_addresses_is_refused_if_one_of_them_is_inside(bad: BadUpstream, names: Names):
    names["api.example"] = [["8.8.8.8", "127.0.0.1"]]
    with pytest.raises(AddressRefused) as refusal:
        await Upstream("Acme").fetch(Request("GET", f"http://api.example:{bad.port}/ok"))
    assert bad.connections == 0
    assert "127.0.0.1" not in str(refusal.value.document())


async def test_a_name_is_asked_for_once_so_that_it_cannot_mean_something_else_when_it_is_connected_to(
    bad: BadUpstream, names: Names, settings: Settings
):
    settings.ALLOW_PRIVATE_UPSTREAMS = ["127.0.0.1/32"]
    names["api.example"] = [["127.0.0.1"], ["8.8.8.8"]]
    response = await Upstream("Acme").fetch(Request("GET", f"http://api.example:{bad.port}/echo"))
    assert response.json()["headers"]["host"] == f"api.example:{bad.port}"
    assert names["api.example"] == [["8.8.8.8"]]


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_the_next_address_is_tried_where_one_does_not_answer(
    bad: BadUpstream, names: Names, settings: Settings, place: int
):
    settings.ALLOW_PRIVATE_UPSTREAMS = ["127.0.0.0/8"]
    addresses = ["127.0.0.2", "127.0.0.3"]
    addresses.insert(place, "127.0.0.1")  # it listens at this one alone
    names["api.example"] = [addresses]
    await Upstream("Acme").fetch(Request("GET", f"http://api.example:{bad.port}/ok"))
    assert bad.count == 1


@pytest.mark.parametrize("place", [0, 1])
async def test_an_address_that_takes_too_long_leaves_time_for_the_others(bad: BadUpstream, names: Names, place: int):
    """A name of three, one of which takes no connection: its queue is full."""
    with socket.create_server(("127.0.0.2", bad.port), backlog=0) as full, ExitStack() as queue:
        full.settimeout(20)
        for _ in range(3):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        addresses = ["127.0.0.3", "127.0.0.3"]  # refuses at once
        addresses[place:place] = ["127.0.0.2"]
        names["api.example"] = [[*addresses[:2], "127.0.0.1"]]
        (await network.connected_socket("api.example", bad.port, PRIVATE_TOO, 3)).close()


async def test_a_host_whose_name_cannot_be_resolved_is_not_connected_to(names: Names):
    with pytest.raises(network.UnknownHost) as failed:
        await network.resolve("no-such-host.invalid", 80)
    assert str(failed.value) == str(failed.value.__cause__)
    names["api.example"] = [[]]
    with pytest.raises(network.UnknownHost, match="no address"):
        await network.resolve("api.example", 80)


async def test_each_address_of_a_host_is_connected_to_once(names: Names):
    names["api.example"] = [["8.8.8.8", "::1", "8.8.8.8"]]
    assert await network.resolve("api.example", 80) == [ip_address("8.8.8.8"), ip_address("::1")]


async def test_a_connection_that_one_upstream_may_make_is_not_anothers_way_inside(bad: BadUpstream):
    request = Request("GET", f"{bad.url}/ok")
    await Upstream("trusted", trusted=frozenset({bad.url})).fetch(request)
    with pytest.raises(AddressRefused):
        await Upstream("other").fetch(request)
    assert bad.count == 1


async def test_what_is_trusted_is_an_origin_and_no_other_port(bad: BadUpstream):
    with bad_upstream() as other, pytest.raises(AddressRefused):
        await Upstream("Acme", trusted=frozenset({other.url})).fetch(Request("GET", f"{bad.url}/ok"))
    assert bad.connections == 0


async def test_a_name_that_is_not_known_is_said_so_without_where_it_was_asked_for(acme: Callable[..., Upstream]):
    with pytest.raises(UpstreamUnavailable) as failure:
        await acme().fetch(Request("GET", "http://no-such-host.invalid/?key=secret-word"))
    assert failure.value.reason == "upstream_unreachable"
    assert failure.value.message == "Acme cannot be reached: its host name has no address (DNS)."
    assert "secret-word" not in str(failure.value.document())


async def test_what_keeps_a_connection_from_being_made_is_said(settings: Settings):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as plain, pytest.raises(UpstreamUnavailable, match="https:// may be wrong in its address"):
        await Upstream("Acme").fetch(Request("GET", plain.url.replace("http:", "https:")))
    with bad_upstream() as gone:
        url = gone.url
    with pytest.raises(UpstreamUnavailable, match="nothing listens at its address and port"):
        await Upstream("Acme").fetch(Request("GET", f"{url}/ok"))


# -- TLS ----------------------------------------------------------------------------------------------


def certified(name: str, folder: Path) -> tuple[ssl.SSLContext, str]:
    """A server's side with a certificate of its own for `name`, and the file by which it is trusted."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context, str(file)


async def test_tls_verifies_the_name_and_not_the_address_that_is_connected_to(
    tmp_path: Path,
    names: Names,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    context, file = certified("api.example", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", file)
    network.tls_context.cache_clear()
    request.addfinalizer(network.tls_context.cache_clear)
    names["api.example"] = names["other.example"] = [["127.0.0.1"]]
    with bad_upstream(context) as secure:
        response = await Upstream("Acme").fetch(Request("GET", f"https://api.example:{secure.port}/ok"))
        assert response.status == 200
        with pytest.raises(UpstreamUnavailable, match=r"certificate is not valid \(it is for another host name\)"):
            await Upstream("Acme").fetch(Request("GET", f"https://other.example:{secure.port}/ok"))
        assert secure.count == 1


async def test_a_certificate_that_nobody_has_signed_is_not_trusted(tmp_path: Path, settings: Settings):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    context, _ = certified("localhost", tmp_path)
    with bad_upstream(context) as secure:
        with pytest.raises(UpstreamUnavailable, match=r"certificate is not valid \(it is self-signed\)"):
            await Upstream("Acme").fetch(Request("GET", f"https://localhost:{secure.port}/ok"))
        assert secure.count == 0
