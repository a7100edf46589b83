"""What Sluice keeps in DATA_DIR is for its user alone; where nothing can be kept, one sentence says so."""

import os
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from gateway.data_directory import private_database, private_directory, private_secret
from tests.e2e import forks

# Root may write everywhere, unless it gives that up.
AS_ANYBODY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def manage(data_dir: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    variables = {"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), **environment}
    return forks.run(arguments, variables, timeout=120, wrapper=AS_ANYBODY)


# -- Modes ------------------------------------------------------------------------------------------


def test_what_is_made_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path):
    former = os.umask(0)
    try:
        directory = private_directory(tmp_path / "new" / "data")
        private_secret(directory / "secret_key")
        private_database(directory / "db.sqlite3")
        with sqlite3.connect(directory / "db.sqlite3") as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE t (x)")
            files = {path.name: mode(path) for path in directory.iterdir()}
        connection.close()
    finally:
        os.umask(former)
    assert mode(directory) == 0o700
    assert files == dict.fromkeys(("secret_key", "db.sqlite3", "db.sqlite3-wal", "db.sqlite3-shm"), 0o600)


def test_what_an_earlier_version_left_open_is_closed(tmp_path: Path):
    names = ("secret_key", "db.sqlite3", "db.sqlite3-wal", "db.sqlite3-shm")
    tmp_path.chmod(0o755)
    for name in names:
        (tmp_path / name).write_text("kept")
        (tmp_path / name).chmod(0o644)
    private_directory(tmp_path)
    assert private_secret(tmp_path / "secret_key") == "kept"
    private_database(tmp_path / "db.sqlite3")
    assert mode(tmp_path) == 0o700
    assert {(mode(tmp_path / name), (tmp_path / name).read_text()) for name in names} == {(0o600, "kept")}


def test_a_directory_that_all_share_is_left_as_it_is(tmp_path: Path):
    tmp_path.chmod(0o1777)
    private_directory(tmp_path)
    assert mode(tmp_path) == 0o1777


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_owner_is_used_as_it_is(tmp_path: Path):
    tmp_path.chmod(0o777)
    os.chown(tmp_path, 12345, -1)
    private_directory(tmp_path)
    assert mode(tmp_path) == 0o777


def test_the_server_keeps_its_files_to_itself(tmp_path: Path):
    """As a whole: the first command in a new directory, under the umask that most machines have."""
    done = manage(tmp_path / "data", "migrate", "--verbosity", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert mode(tmp_path / "data") == 0o700
    assert {mode(path) for path in (tmp_path / "data").iterdir()} == {0o600}


# -- What cannot be written -------------------------------------------------------------------------


def unwritable_directory(data: Path) -> Path:
    data.mkdir(mode=0o500)
    return data


def unwritable_parent(data: Path) -> Path:
    data.mkdir(mode=0o500)
    return data / "within"


def a_file(data: Path) -> Path:
    data.write_text("")
    return data


def within_a_file(data: Path) -> Path:
    data.write_text("")
    return data / "within"


def read_only_database(data: Path) -> Path:
    data.mkdir()
    (data / "sluice.sqlite3").touch(0o400)
    return data


def read_only_wal(data: Path) -> Path:
    data.mkdir()
    (data / "sluice.sqlite3-wal").touch(0o400)
    return data


def unreadable_secret(data: Path) -> Path:
    data.mkdir()
    (data / "secret_key").touch(0o000)
    return data


@pytest.mark.parametrize(
    "prepare",
    [
        unwritable_directory,
        unwritable_parent,
        a_file,
        within_a_file,
        read_only_database,
        read_only_wal,
        unreadable_secret,
    ],
)
def test_what_cannot_be_written_ends_in_one_sentence(tmp_path: Path, prepare: Callable[[Path], Path]):
    done = manage(prepare(tmp_path / "data"), "serve", "--port", "0")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Configuration: ")
    assert done.stderr.count("\n") == 1
    assert str(tmp_path / "data") in done.stderr
    assert "DATA_DIR" in done.stderr


@pytest.mark.parametrize("command", ["migrate", "cluster", "mcp", "check"])
def test_every_command_says_it(tmp_path: Path, command: str):
    done = manage(unwritable_directory(tmp_path / "data"), command)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Configuration: DATA_DIR {tmp_path / 'data'} cannot be written (Permission denied);")
    assert done.stderr.count("\n") == 1


def test_a_database_elsewhere_needs_its_directory_too(tmp_path: Path):
    """SQLite makes its log beside the database."""
    elsewhere = tmp_path / "elsewhere" / "x.sqlite3"
    elsewhere.parent.mkdir()
    elsewhere.touch()
    elsewhere.parent.chmod(0o500)
    done = manage(tmp_path / "data", "migrate", DATABASE_URL=f"sqlite:///{elsewhere}")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Configuration: The database {elsewhere} cannot be written (Permission denied);")


@pytest.mark.parametrize("command", ["migrate", "serve"])
def test_a_file_that_is_no_database_is_said_in_one_sentence(tmp_path: Path, command: str):
    (tmp_path / "sluice.sqlite3").write_bytes(b"no database" * 999)
    done = manage(tmp_path, command, *(["--port", "0"] if command == "serve" else []))
    assert done.returncode == 1
    assert done.stderr.startswith("The database cannot be used: file is not a database.")
    assert done.stderr.count("\n") == 1
    assert "Traceback" in manage(tmp_path, "migrate", "--traceback").stderr


def test_a_database_that_was_never_set_up_is_said_with_the_way_to_do_it(tmp_path: Path):
    done = manage(tmp_path, "apikey", "list")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "manage.py migrate" in done.stderr


def test_a_file_where_a_directory_is_wanted_is_called_one(tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match="which is a file"):
        private_directory(a_file(tmp_path / "data"))
