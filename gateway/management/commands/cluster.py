"""manage.py cluster: the production topology as local processes, for tests and demos."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import redis
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from gateway.pages.client_config import welcome
from gateway.process import first_start
from gateway.process.cluster import Cluster, ClusterError, Topology

DATABASE_URL = "postgres://postgres@127.0.0.1:5432/sluice_cluster"
REDIS_URL = "redis://127.0.0.1:6379/0"
LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")
ANSWER_SECONDS = 3


def ports(text: str) -> list[int]:
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a list of ports such as 8101,8102") from None
    chosen = [number for number in numbers if number]
    if not all(0 <= number <= 65535 for number in numbers) or len(set(chosen)) < len(chosen):
        raise ArgumentTypeError(f"{text!r}: expected different ports from 1 to 65535, or 0 for any free one")
    return numbers


class Command(BaseCommand):
    help = (
        "Starts what production runs, as processes of this machine: web processes, a Celery worker and beat, against "
        "a Postgres and a Redis that are running already. When all webs answer, stdout gets one line: `cluster ready`, "
        "then their addresses, then NAME=PROCESS_ID of every process (web-1=… web-2=… worker=… beat=…). Logs go to "
        "stderr. SIGINT and SIGTERM stop everything (exit code 0); so does the death of a process (exit code 1)."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--database-url",
            default=os.environ.get("DATABASE_URL") or DATABASE_URL,
            help=f"Postgres; the database is created when it is missing (DATABASE_URL, else {DATABASE_URL})",
        )
        parser.add_argument(
            "--redis-url",
            default=os.environ.get("REDIS_URL") or REDIS_URL,
            help=f"Redis, with the number of a database (REDIS_URL, else {REDIS_URL})",
        )
        parser.add_argument(
            "--ports",
            type=ports,
            default=[8101, 8102],
            metavar="PORT,PORT…",
            help="a web process listens on each, on 127.0.0.1; 0: any free one (default 8101,8102)",
        )
        parser.add_argument(
            "--fresh", action="store_true", help="drop the database and begin again; only on this machine's Postgres"
        )
        parser.add_argument(
            "--sample",
            action=BooleanOptionalAction,
            default=True,
            help="at the first start: whether to load the sample account",
        )
        parser.add_argument(
            "--worker-module",
            action="append",
            default=[],
            metavar="MODULE",
            help="a module of tasks that the worker loads beside the applications' own; may be repeated",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Before the child processes start, exiting is enough.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
        _settle_environment({"DATABASE_URL": options["database_url"], "REDIS_URL": options["redis_url"]})
        chosen = free_ports(options["ports"])
        check_redis(settings.REDIS_URL)
        prepare_database(settings.DATABASE_URL, fresh=options["fresh"])
        topology = Topology(chosen, settings.LOG_LEVEL, options["worker_module"])
        self._prepare_account(topology.addresses[0], sample=options["sample"])
        with tempfile.TemporaryDirectory(prefix="sluice-cluster-") as directory:
            cluster = Cluster(
                topology,
                {**os.environ, "SECRET_KEY": settings.SECRET_KEY, "PYTHONUNBUFFERED": "1"},
                directory=Path(directory),
                log=self._log,
            )
            try:
                asyncio.run(cluster.run(self._announce))
            except ClusterError as error:
                raise CommandError(str(error)) from None

    def _prepare_account(self, address: str, *, sample: bool) -> None:
        credentials = first_start.prepare(sample=sample)
        if credentials:
            self.stdout.write(welcome(address, credentials))
            self.stdout.flush()
        _close_connections()

    def _announce(self, cluster: Cluster) -> None:
        processes = (f"{child.name}={child.pid}" for child in cluster.children)
        self.stdout.write(" ".join(["cluster ready", *cluster.topology.addresses, *processes]))
        self.stdout.flush()

    def _log(self, name: str, line: str) -> None:
        self.stderr.write(f"{name:<7}| {line}")
        self.stderr.flush()


def _settle_environment(wanted: dict[str, str]) -> None:
    """Restarts this process with the store URLs in its environment, because settings were read before the command's
    options."""
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **wanted})  # noqa: S606 -- no shell is wanted


def _close_connections() -> None:
    """Closes the connections of this process: from here on, only the child processes use the database."""
    postgres = connections["default"]
    assert isinstance(postgres, DatabaseWrapper)
    postgres.close()
    postgres.close_pool()


def free_ports(numbers: Sequence[int]) -> list[int]:
    """The ports, with zeros replaced by free ports. Raises CommandError for a port that is taken."""
    with ExitStack() as held:  # all bound at once, so that no free port is found twice
        return [_bound(held.enter_context(socket.socket()), number) for number in numbers]


def _bound(listener: socket.socket, port: int) -> int:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # bind alone may succeed although another process listens
    except OSError as error:
        raise CommandError(
            f"Port {port} is not available: {error.strerror}. Stop what listens there, or choose others with --ports; "
            "0 takes any free one."
        ) from None
    bound: int = listener.getsockname()[1]
    return bound


def check_redis(url: str) -> None:
    """Raises CommandError if Redis does not answer at the URL."""
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=ANSWER_SECONDS, socket_timeout=ANSWER_SECONDS) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        raise CommandError(
            f"Redis cannot be used: {_one_line(error)}. Start it, or name another: --redis-url."
        ) from None


def prepare_database(url: str, *, fresh: bool) -> None:
    """Creates the database if it is missing; `fresh` drops it first. Raises CommandError."""
    try:
        target = conninfo_to_dict(url)
        name = Identifier(str(target["dbname"]))
    except (psycopg.Error, KeyError):
        raise CommandError("--database-url is not of the form postgres://user@host:5432/database.") from None
    try:
        with psycopg.connect(url, dbname="postgres", autocommit=True, connect_timeout=ANSWER_SECONDS) as server:
            if fresh:
                _check_expendable(str(target["dbname"]), server.info.host)
                server.execute(SQL("DROP DATABASE IF EXISTS {}").format(name))
            if not server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [target["dbname"]]).fetchone():
                server.execute(SQL("CREATE DATABASE {}").format(name))
    except psycopg.errors.ObjectInUse as error:
        raise CommandError(f"Something uses the database, stop it first: {_one_line(error)}.") from None
    except psycopg.OperationalError as error:
        raise CommandError(
            f"Postgres cannot be used: {_one_line(error)}. Start it, or name another: --database-url."
        ) from None
    except psycopg.Error as error:
        raise CommandError(f"The database cannot be created: {_one_line(error)}.") from None


def _one_line(error: Exception) -> str:
    """A driver's message on one line, for use within a sentence."""
    return " ".join(str(error).split()).rstrip(".")


def _check_expendable(name: str, host: str) -> None:
    """Protects databases that DATABASE_URL may name, such as production, from --fresh. Raises CommandError."""
    is_local = host in LOCAL_HOSTS or host.startswith("/")
    if not is_local or name in ("postgres", "template0", "template1"):
        raise CommandError(
            f"--fresh does not drop {name} on {host}: it drops only the cluster's own database on this machine."
        )
