"""SQLite's tables, and those with the sample account: one process of a run makes them for all, as all migrations from
nothing take 3 s."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from tests import shared
from tests.e2e import forks

path = shared.directory / "tables.sqlite3"
with_account = shared.directory / "account.sqlite3"
MIGRATE_SECONDS = 300


def save(database: sqlite3.Connection, file: Path) -> None:
    """For the other processes, which never see half of it."""
    own = file.with_suffix(f".{os.getpid()}")
    with closing(sqlite3.connect(own)) as saved:
        database.backup(saved)
    own.rename(file)


def copy(file: Path, database: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(file)) as saved:
        saved.backup(database)


def made() -> Path:
    """The file, which a command makes if no test of the run has had a database yet."""
    with shared.one_at_a_time("tables"):
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=shared.directory) as data_dir:
                environment = {"PATH": os.environ["PATH"], "DATA_DIR": data_dir}
                done = forks.run(["migrate", "--verbosity", "0"], environment, timeout=MIGRATE_SECONDS)
                assert done.returncode == 0, done.stderr
                with closing(sqlite3.connect(Path(data_dir) / "sluice.sqlite3")) as database:
                    save(database, path)
    return path
