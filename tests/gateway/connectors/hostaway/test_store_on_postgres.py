"""What SQLite lets pass and Postgres does not: objects are loaded into production's database."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.e2e.clusters import Stores, own_stores

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with own_stores(tmp_path_factory.mktemp("store")) as own:
        with psycopg.connect(own.database_url, dbname="postgres", autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {own.database} WITH (FORCE)")
            server.execute(f"CREATE DATABASE {own.database}")
        own.manage("migrate", "--verbosity", "0")
        yield own


def loaded(stores: Stores, folder: Path, *bookings: dict[str, Any]) -> str:
    (folder / "bookings.json").write_text(json.dumps({"status": "success", "result": bookings}))
    return stores.manage("load_sample_data", "--from", str(folder / "bookings.json"))


def test_odd_values_are_loaded(stores: Stores, tmp_path: Path):
    odd = {"guestName": "a\0b" * 500, "nights": 10**12, "totalPrice": "NaN", "insertedOn": "9999-12-31 23:59:59-12:00"}
    loaded(stores, tmp_path, {"id": 1, "arrivalDate": "2026-11-20", **odd})
    assert stores.rows("SELECT id, total_price FROM hostaway_booking") == [(1, None)]


def test_an_object_that_two_pages_of_upstream_both_had_is_loaded_once(stores: Stores, tmp_path: Path):
    loaded(stores, tmp_path, *({"id": 1, "arrivalDate": "2026-11-20", "guestName": name} for name in ("Ada", "Grace")))
    assert stores.rows("SELECT id, guest_name FROM hostaway_booking") == [(1, "Grace")]
