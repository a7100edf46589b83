"""The embedded default on a disk that is full: what reads is answered, and whole again when there is room."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.clusters import Admin
from tests.e2e.serving import Serving, serving
from tests.needs import TMPFS
from tests.servers import until

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    TMPFS.or_skip()
    folder = tmp_path_factory.mktemp("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="module")
def sluice(disk: Path) -> Iterator[Serving]:
    with serving(disk / "data") as running:
        yield running


@pytest.fixture
def client(sluice: Serving) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {sluice.key}"}
    with httpx2.Client(base_url=sluice.base, headers=headers, timeout=60, trust_env=False) as client:
        yield client


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Not a byte is left."""
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            for size in (MEGABYTE, 4096, 1):
                try:
                    while file.write(b"\0" * size):
                        pass
                except OSError:
                    continue
        yield
    finally:
        filler.unlink()


def is_ready(client: httpx2.Client, expected: bool) -> dict[str, Any]:
    answer = client.get("/readyz")
    assert answer.is_success == expected
    document: dict[str, Any] = answer.json()
    return document


def asked(client: httpx2.Client, number: int) -> list[httpx2.Response]:
    """Calls of each kind; their arguments differ from those of other numbers, so that none is answered from memory."""
    return [
        client.get("/api/v1/bookings", params={"limit": 20 + number}),
        client.get("/api/v1/bookings", params={"limit": 20 + number, "fields": "all"}),
        client.get("/api/v1/bookings/43000003", params={"fields": "all"}),
        client.get("/api/v1/documents", params={"limit": 1 + number % 5}),
        client.get("/api/v1/documents/1", params={"startLine": 1 + number}),
        client.post("/api/v1/tools/list_transactions", json={"limit": 3 + number}),
    ]


def test_first_pages_come_without_a_cursor_and_say_why_and_all_is_whole_again_when_there_is_room(
    disk: Path, sluice: Serving, client: httpx2.Client
):
    until(lambda: is_ready(client, True))
    before = client.get("/api/v1/bookings", params={"limit": 7}).raise_for_status().json()
    with httpx2.Client(base_url=sluice.base, headers={"accept": "text/html"}, timeout=60, trust_env=False) as browser:
        staff = Admin(browser)
        staff.log_in(sluice.password)
        with full(disk):
            answers = [answer for number in range(15) for answer in asked(client, number)]
            assert {answer.status_code for answer in answers} <= {200, 404}
            first = client.get("/api/v1/bookings", params={"limit": 13})
            until(lambda: is_ready(client, False))
            assert is_ready(client, False)["room"] is False
            page = first.raise_for_status().json()
            assert len(page["items"]) > 0
            assert page["meta"]["hasMore"] is True
            assert "nextCursor" not in page
            assert "could not be stored just now" in page["meta"]["notes"][0]
            second = client.get("/api/v1/bookings", params={"limit": 7, "cursor": before["nextCursor"]})
            assert second.status_code == 200, "what was stored is read"
            refused = until(lambda: saved(staff, 503))
            assert "Not possible just now" in refused.text
            assert "Traceback" not in refused.text
        until(lambda: is_ready(client, True))
        whole = until(lambda: with_cursor(client))
        assert "notes" not in whole["meta"]
        following = client.get("/api/v1/bookings", params={"limit": 13, "cursor": whole["nextCursor"]})
        assert following.raise_for_status().json()["items"]
        until(lambda: saved(staff, 302))
    with closing(sqlite3.connect(f"file:{os.fspath(disk / 'data' / 'sluice.sqlite3')}?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def with_cursor(client: httpx2.Client) -> dict[str, Any]:
    page: dict[str, Any] = client.get("/api/v1/bookings", params={"limit": 13}).raise_for_status().json()
    assert "nextCursor" in page
    return page


def saved(staff: Admin, status: int) -> httpx2.Response:
    answer: httpx2.Response = staff.set_budget("list_bookings", default_page_size=20)
    assert answer.status_code == status, answer.text[:300]
    return answer
