"""The commands of operators: keys, token counts, sample data, MCP over stdio."""

import hashlib
import json
import os
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from context_protection.core import tokens
from gateway.access.models import ApiKey
from gateway.connectors.hostaway.models import Booking, Document, DocumentContent, Listing, Transaction
from gateway.process import web
from gateway.workers import worker
from tests.doors import Doors

pytestmark = pytest.mark.django_db

BOOKING = {"id": 7, "arrivalDate": "2026-11-20", "guestName": "Ada", "status": "new"}
LISTING = {"id": 8, "personCapacity": 4, "name": "Villa"}
TRANSACTION = {"id": 9, "amount": 12.5, "type": "charge"}


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


# -- apikey -----------------------------------------------------------------------------------------


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def test_a_new_key_is_printed_alone_and_works_until_it_is_revoked(committed: Any):
    with committed():
        printed = run("apikey", "create", "desk")
    assert printed == printed.strip() + "\n"
    assert "items" in Doors(printed.strip()).rest("list_documents", {})
    with committed():
        run("apikey", "revoke", "desk")
    assert Doors(printed.strip()).rest("list_documents", {})["error"]["reason"] == "not_authenticated"


def test_the_list_of_keys_shows_none():
    secret = run("apikey", "create", "desk").strip()
    run("apikey", "create", "guest")
    run("apikey", "revoke", "guest")
    listed = run("apikey", "list")
    assert secret not in listed
    (desk, active), (guest, revoked) = (line.split("\t")[0::2] for line in listed.splitlines())
    assert (desk, active, guest) == ("desk", "active", "guest")
    assert re.fullmatch(r"revoked 20\d\d-\d\d-\d\d \d\d:\d\d", revoked)


def test_a_name_is_given_once():
    run("apikey", "create", "desk")
    with pytest.raises(CommandError, match="already"):
        run("apikey", "create", "desk")
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "desk\nguest"])
def test_a_key_has_a_name_of_one_line(name: str):
    expected = f"The name is {name!r}; expected 1 to 100 characters in one line."
    with pytest.raises(CommandError, match=re.escape(expected)):
        run("apikey", "create", name)
    with pytest.raises(CommandError, match=re.escape("--owner is ")):
        run("apikey", "create", "desk", "--owner", f"{name}{'x' * 101}")
    assert not ApiKey.objects.exists()


def test_a_key_that_is_not_there_cannot_be_revoked():
    with pytest.raises(CommandError, match="no active key named 'nobody'"):
        run("apikey", "revoke", "nobody")


# -- tokens -----------------------------------------------------------------------------------------


def test_files_are_counted_by_both_rulers(tmp_path: Path):
    text = "静かな部屋です。The kitchen has an induction hob.\n" * 20
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.txt").write_text("")
    lines = run("tokens", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--json").splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "file": str(tmp_path / "a.txt"),
            "characters": len(text),
            "formula": tokens.formula(text),
            "claude": tokens.claude.count(text),
        },
        {"file": str(tmp_path / "b.txt"), "characters": 0, "formula": 0, "claude": 0},
    ]
    assert f"{tokens.claude.count(text):,} claude" in run("tokens", str(tmp_path / "a.txt"))


def test_what_is_no_text_is_said_plainly(tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("binary", "missing"):
        with pytest.raises(CommandError, match="cannot be read as text"):
            run("tokens", str(tmp_path / name))


# -- load_sample_data -------------------------------------------------------------------------------


def envelope(path: Path, *objects: Any) -> str:
    path.write_text(json.dumps({"status": "success", "result": objects}))
    return str(path)


def account() -> tuple[Any, ...]:
    models = (Booking, Listing, Transaction, Document)
    return tuple(sorted(model.objects.values_list("id", flat=True)) for model in models)


def test_files_replace_the_account(tmp_path: Path):
    (tmp_path / "house_rules.md").write_text("# Rules\n\nBe quiet.\n")
    run(
        "load_sample_data",
        "--from",
        envelope(tmp_path / "bookings.json", BOOKING),
        envelope(tmp_path / "listings.json", LISTING),
        envelope(tmp_path / "transactions.json", TRANSACTION),
        str(tmp_path / "house_rules.md"),
    )
    assert account() == ([7], [8], [9], ["house_rules.md"])
    assert Document.objects.get().title == "house rules"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.json", b'{"result": [{"arrivalDate": "2026-11-20"}]}'),
        ("bad.json", b'{"result": [{"id": 1, "arrivalDate": "2026-11-20"}, {"arrivalDate": "2026-11-20"}]}'),
        ("bad.json", b'{"result": [{"id": 1, "arrivalDate": "2026-11-20"}, 17]}'),
        ("bad.json", b'{"result": [{"id": "x", "arrivalDate": "2026-11-20"}]}'),
        ("bad.json", b'{"result": [{"id": 100000000000000000000, "arrivalDate": "2026-11-20"}]}'),
        ("missing.json", None),
        ("x" * 201, b"a"),
    ],
)
def test_nothing_is_replaced_when_one_file_is_bad(tmp_path: Path, name: str, content: bytes | None):
    before = account()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError, match=name):
        run("load_sample_data", "--from", envelope(tmp_path / "good.json", BOOKING), str(tmp_path / name))
    assert account() == before


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"result": {"id": 1}}', b'{"result": "text"}', b'{"result": [{"id": 1, "colour": "red"}]}'],
)
def test_json_that_is_no_envelope_of_upstreams_is_a_document_of_its_own(tmp_path: Path, content: bytes):
    (tmp_path / "settings.json").write_bytes(content)
    run("load_sample_data", "--from", str(tmp_path / "settings.json"))
    document = Document.objects.get()
    assert (document.id, document.media_type, document.encoding) == ("settings.json", "application/json", "utf-8")


@pytest.mark.parametrize(
    ("name", "content", "media_type", "encoding"),
    [
        ("a.log", b"one\n", "text/x-log", "utf-8"),
        ("a.csv", b"a,b\n", "text/csv", "utf-8"),
        ("notes", b"one\n", "text/plain", "utf-8"),
        ("empty.txt", b"", "text/plain", "utf-8"),
        ("a.txt", "né\n".encode("utf-16"), "text/plain", "utf-16"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0", "image/png", None),
        ("data", b"a\0b", "application/octet-stream", None),
    ],
)
def test_any_file_is_a_document(tmp_path: Path, name: str, content: bytes, media_type: str, encoding: str | None):
    (tmp_path / name).write_bytes(content)
    run("load_sample_data", "--from", str(tmp_path / name))
    document = Document.objects.get()
    assert (document.id, document.media_type, document.encoding) == (name, media_type, encoding)
    assert (document.bytes, document.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_a_folder_and_a_pipe_are_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(CommandError, match="cannot be read"):
            run("load_sample_data", "--from", str(path))


def test_as_many_bookings_as_are_asked_for():
    run("load_sample_data", "--bookings", "1234")
    assert Booking.objects.count() == 1234
    assert (Listing.objects.count(), Transaction.objects.count(), Document.objects.count()) == (12, 320, 4)


@pytest.mark.parametrize("count", ["-1", "1000001"])
def test_a_number_of_bookings_out_of_range_is_refused_and_nothing_is_replaced(count: str):
    before = account()
    with pytest.raises(CommandError, match="expected 0 to 1000000"):
        run("load_sample_data", f"--bookings={count}")
    assert account() == before


def test_loading_again_gives_the_same_account():
    before = list(Booking.objects.order_by("id").values_list("id", "data"))
    run("load_sample_data")
    assert list(Booking.objects.order_by("id").values_list("id", "data")) == before
    assert DocumentContent.objects.filter(unused_since=None).count() == 4


# -- The servers' file ------------------------------------------------------------------------------


@pytest.fixture
def port_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server starts here, whatever the test shows."""

    def taken(*_: Any, **__: Any) -> None:
        raise web.CannotListen("The port is taken.")

    monkeypatch.setattr(web, "listen", taken)


@pytest.fixture
def servers_file(settings: LazySettings, tmp_path: Path) -> Path:
    path = tmp_path / "servers.json"
    settings.MCP_SERVERS_FILE = str(path)
    return path


@pytest.mark.usefixtures("port_is_taken")
@pytest.mark.parametrize("command", ["serve", "mcp"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read (No such file or directory)."),
        ("{", "cannot be read: Expecting property name"),
        ("[]", 'must be an object with one key, "mcpServers".'),
        ('{"mcpServers": {"web": {"url": "ftp://a.example"}}}', "mcpServers.web.url"),
    ],
)
def test_a_start_with_a_bad_servers_file_is_refused(
    servers_file: Path, settings: LazySettings, command: str, content: str | None, words: str
):
    settings.SLUICE_API_KEY = ""
    if content is not None:
        servers_file.write_text(content)
    with pytest.raises(ImproperlyConfigured, match=r"^MCP_SERVERS_FILE: ") as refused:
        run(command)
    assert words in str(refused.value)
    assert "mcpServers.web" in words or str(servers_file) in str(refused.value)


@pytest.mark.usefixtures("port_is_taken")
def test_a_start_with_a_good_servers_file_goes_on(servers_file: Path):
    servers_file.write_text('{"mcpServers": {"web": {"url": "https://a.example/mcp"}}}')
    with pytest.raises(CommandError, match="The port is taken"):
        run("serve")


def test_one_of_several_processes_starts_again_while_the_servers_file_is_bad(
    servers_file: Path, monkeypatch: pytest.MonkeyPatch
):
    started: list[int] = []
    monkeypatch.setattr(worker, "run", started.append)
    servers_file.write_text("{")
    run("serve", "--connections-from", "7")
    assert started == [7]


# -- mcp --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"SLUICE_API_KEY": ""}, "SLUICE_API_KEY is not set. Make a key with"),
        ({"SLUICE_API_KEY": "slc_wrong"}, "SLUICE_API_KEY: The API key is unknown or was revoked."),
        (
            {"MCP_TRANSPORT": "carrier-pigeon"},
            "Invalid MCP_TRANSPORT: carrier-pigeon. Valid values: stdio, http-sse, websocket",
        ),
        ({"MCP_TRANSPORT": "websocket"}, "MCP_PORT environment variable required for websocket transport"),
        ({"MCP_TRANSPORT": "HTTP-SSE"}, "MCP_PORT environment variable required for http-sse transport"),
        ({"MCP_TRANSPORT": "http-sse", "MCP_PORT": "80"}, "Port must be between 1024 and 65535, got 80"),
        ({"MCP_TRANSPORT": "websocket", "MCP_PORT": "65536"}, "Port must be between 1024 and 65535, got 65536"),
        ({"MCP_TRANSPORT": "websocket", "MCP_PORT": "ninety"}, "Port must be between 1024 and 65535, got ninety"),
    ],
)
def test_mcp_without_what_it_needs_says_what_to_do(settings: LazySettings, values: dict[str, str], words: str):
    for name, value in values.items():
        setattr(settings, name, value)
    with pytest.raises(CommandError) as refused:
        run("mcp")
    assert words in str(refused.value)
    assert "slc_wrong" not in str(refused.value)
