"""A server that others have written, as it is installed from npm, behind Sluice: large files come through it in small
answers, and put together again are the files."""

import base64
import json
import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client

from context_protection.core import tokens
from tests import crawler
from tests.e2e.serving import Serving, serving
from tests.e2e.test_clients import TRANSPORTS, said_by_sdk
from tests.e2e.test_other_servers import until_offered
from tests.needs import CLIENTS, NODE
from tests.simulators.mcp_server import png

SERVER = CLIENTS / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
LARGE = 200_000  # bytes of each file
HARD_CAP = 12_000


def orders() -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "customer": {"name": f"Zoë Müller {number % 40}", "mail": None if number % 9 else "zoe@example.com"},
            "lines": [
                {"sku": f"S-{number}-{line}", "amount": line * 19.99, "open": line % 2 == 0} for line in range(3)
            ],
            "note": "鉄道の駅まで five minutes 🚉" if number % 5 == 0 else "",
        }
        for number in range(900)
    ]


def report() -> dict[str, Any]:
    chapters = {f"chapter{number:02}": {"title": f"Of {number}", "lines": ["a line"] * 300} for number in range(60)}
    return {
        "title": "One object",
        "pi": 3.141592653589793,
        "chapters": chapters,
        "nothing": None,
        "long": "x, y. " * 5000,
    }


def log() -> str:
    levels = random.Random(7)
    return "".join(
        f"2026-11-21T10:{number // 60 % 60:02}:{number % 60:02}Z {levels.choice(['INFO', 'WARN'])} worker {number % 7} "
        f"— done with job {number}\n"
        for number in range(4000)
    )


LOG, ORDERS, REPORT = log(), orders(), report()
BROKEN = json.dumps(ORDERS)[:-30]
PIXELS = png(600, 400, LARGE)


class Caller:
    """Asks through the official SDK, and looks at the size of each answer."""

    def __init__(self, portal: Any, client: Client) -> None:
        self.portal, self.client = portal, client
        self.largest = 0

    def __call__(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        said = said_by_sdk(self.portal, self.client, operation, arguments)
        answer: dict[str, Any] = json.loads(said)
        assert "error" not in answer, said
        assert tokens.claude.count(said) <= HARD_CAP
        self.largest = max(self.largest, crawler.ours(answer)["estimatedTokens"])
        return answer


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("files")
    (directory / "app.log").write_text(LOG)
    (directory / "orders.json").write_text(json.dumps(ORDERS, ensure_ascii=False, indent=1))
    (directory / "report.json").write_text(json.dumps(REPORT))
    (directory / "broken.json").write_text(BROKEN)
    (directory / "pixels.png").write_bytes(PIXELS)
    assert all(file.stat().st_size >= LARGE for file in directory.iterdir())
    for number in range(60):
        below = directory / "tree" / f"directory-{number:02}"
        below.mkdir(parents=True)
        for file in range(60):
            (below / f"a file with a longer name, number {file:02}.txt").touch()
    return directory


@pytest.fixture(scope="module")
def sluice(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    NODE.or_skip()
    directory = tmp_path_factory.mktemp("sluice")
    (directory / "servers.json").write_text(
        json.dumps({"mcpServers": {"files": {"command": shutil.which("node"), "args": [str(SERVER), str(files)]}}})
    )
    with serving(directory, MCP_SERVERS_FILE=str(directory / "servers.json")) as running:
        yield running


@pytest.fixture(scope="module", params=["websocket", "http"])
def call(request: pytest.FixtureRequest, sluice: Serving) -> Iterator[Caller]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(TRANSPORTS[request.param](sluice))) as client,
    ):
        portal.call(until_offered, client, "files_read_text_file")
        yield Caller(portal, client)


def whole(call: Caller, operation: str, arguments: Mapping[str, Any]) -> Any:
    """A list or record, by what its first answer says of where the rest is."""
    answer = call(operation, arguments)
    if more := answer["meta"].get("detailsAvailable"):
        operation, arguments = crawler.details(more)
    if "items" not in answer:
        return crawler.from_parts(call, operation, arguments)
    return [
        crawler.from_parts(call, *crawler.details(row["detailsAvailable"])) if "detailsAvailable" in row else row
        for row in crawler.walk(call, operation, arguments)
    ]


@pytest.mark.parametrize(("name", "text"), [("app.log", LOG), ("broken.json", BROKEN)])
def test_a_text_of_200_kb_is_the_file(call: Caller, files: Path, name: str, text: str):
    assert crawler.text(call, "files_read_text_file", {"path": str(files / name)}) == text
    assert 0 < call.largest <= HARD_CAP


@pytest.mark.parametrize(("name", "document"), [("orders.json", ORDERS), ("report.json", REPORT)])
def test_a_document_of_200_kb_is_the_file_leaf_by_leaf(call: Caller, files: Path, name: str, document: Any):
    assert whole(call, "files_read_text_file", {"path": str(files / name)}) == document
    assert 0 < call.largest <= HARD_CAP


def test_a_structured_answer_of_200_kb_is_the_directory(call: Caller, files: Path):
    found = {
        f"{directory['name']}/{file['name']}": (directory["type"], file["type"])
        for directory in whole(call, "files_directory_tree", {"path": str(files / "tree")})
        for file in directory["children"]
    }
    there = {str(file.relative_to(files / "tree")) for file in (files / "tree").rglob("*.txt")}
    assert found == dict.fromkeys(there, ("directory", "file"))
    assert 0 < call.largest <= HARD_CAP


def test_a_picture_is_the_file(call: Caller, files: Path):
    asked = {"path": str(files / "pixels.png")}
    (picture,) = call.portal.call(call.client.call_tool, "files_read_media_file", asked).content
    assert (picture.type, picture.mime_type) == ("image", "image/png")
    assert base64.b64decode(picture.data) == PIXELS
