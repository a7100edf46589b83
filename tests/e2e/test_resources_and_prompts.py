"""Resources, prompts and completion as real clients get them from a real server, over every transport, in both eras."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.uri_template import UriTemplate
from mcp.types import INVALID_PARAMS, PromptReference

from gateway.connectors.hostaway import sample
from gateway.mcp.errors import RESOURCE_NOT_FOUND
from tests.e2e.serving import Serving, serving
from tests.e2e.test_clients import TRANSPORTS

MANUAL = "house-manual.md"
NOT_FOUND = {"legacy": RESOURCE_NOT_FOUND, "2026-07-28": INVALID_PARAMS}


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice")) as running:
        yield running


@pytest.mark.parametrize("era", list(NOT_FOUND))
@pytest.mark.parametrize("transport", list(TRANSPORTS))
def test_an_account_is_read_and_asked_without_one_tool_call(sluice: Serving, transport: str, era: str):
    found = anyio.run(used, TRANSPORTS[transport](sluice), era)
    (manual,) = (document.content for document in sample.documents() if document.name == MANUAL)
    assert found["text"] == manual
    assert found["chunks"] > 5
    assert found["codes"] == [NOT_FOUND[era], INVALID_PARAMS]
    assert "list_transactions" in found["prompt"]
    assert found["months"][:2] == ["2027-09", "2027-05"]


async def used(target: Any, era: str) -> dict[str, Any]:
    async with Client(target, mode=era) as client:
        listed = {each.name: each.uri for each in (await client.list_resources()).resources}
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
        (template,) = (each for each in templates if each.startswith("sluice://documents"))
        texts, uri = [], listed[MANUAL]
        while uri:
            answer = json.loads((await client.read_resource(uri)).contents[0].text)
            texts.append(answer["content"])
            following = answer.get("nextCursor")
            uri = UriTemplate.parse(template).expand({"id": MANUAL, "cursor": following}) if following else ""
        prompt = await client.get_prompt("audit_booking", {"booking": "43000003"})
        months = await client.complete(PromptReference(name="monthly_revenue"), {"name": "month", "value": "2027"})
        return {
            "text": "".join(texts),
            "chunks": len(texts),
            "codes": [await refused(client, "sluice://bookings/1"), await refused(client, f"{listed[MANUAL]}?line=1")],
            "prompt": prompt.messages[0].content.text,
            "months": months.completion.values,
        }


async def refused(client: Client, uri: str) -> int:
    try:
        await client.read_resource(uri)
    except MCPError as error:
        return error.error.code
    raise AssertionError(f"{uri} was answered")
