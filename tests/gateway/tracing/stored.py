"""Reads what a running server has recorded."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from tests.e2e.serving import Serving
from tests.patience import PATIENCE


def a_stored_call(sluice: Serving, **figures: str) -> dict[str, Any]:
    """The newest call with these figures, once it is stored."""
    where = " AND ".join(f"{column} = ?" for column in figures)
    deadline = time.monotonic() + PATIENCE
    while True:
        with sqlite3.connect(Path(sluice.environment["DATA_DIR"]) / "sluice.sqlite3") as database:
            database.row_factory = sqlite3.Row
            query = f"SELECT * FROM telemetry_telemetryrecord WHERE {where} ORDER BY id DESC LIMIT 1"  # noqa: S608
            row = database.execute(query, tuple(figures.values())).fetchone()
        if row is not None:
            return dict(row)
        assert time.monotonic() < deadline, f"no call with {figures} was stored"
        time.sleep(0.1)
