"""manage.py serve: web, worker and beat in one process, or several web processes behind one listener."""

import argparse
import asyncio
import socket
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from context_protection.checks import POLICY_TAG
from context_protection.stores.snapshots import write_behind
from gateway.connectors.mcp_servers.configuration import from_file
from gateway.pages.client_config import welcome, welcome_back
from gateway.process import first_start, web
from gateway.process.fork import in_a_fork
from gateway.process.migration_state import is_migrated

MOST_WORKERS = 64
NO_PROXY = (
    "SECURE_COOKIES is set and BEHIND_PROXY is not: every page is redirected to https://, which this server does not "
    "speak itself. Put a proxy in front that ends TLS and sets X-Forwarded-Proto, and set BEHIND_PROXY=true."
)


class Command(BaseCommand):
    help = (
        "Starts Sluice: web, Celery worker and beat in one process. The first start sets up the database, loads the "
        "sample account, and prints the first admin's login and key."
    )
    requires_system_checks = (POLICY_TAG,)  # Django's own checks would load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.HOST, help=f"address to listen on (HOST; now {settings.HOST})")
        parser.add_argument(
            "--port", type=int, default=settings.PORT, help=f"port to listen on (PORT; now {settings.PORT})"
        )
        parser.add_argument("--web-only", action="store_true", help="no worker and beat: they run elsewhere")
        parser.add_argument(
            "--workers",
            type=int,
            default=1,
            metavar="N",
            help="web processes behind the one address (default: 1); Celery's worker and beat run in their parent",
        )
        # Only a parent passes this, to each of its web processes.
        parser.add_argument("--connections-from", type=int, help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if (descriptor := options["connections_from"]) is not None:
            from gateway.workers import worker

            is_embedded = settings.EMBEDDED_DATABASE and not settings.REDIS_URL
            with write_behind.beside_workers() if is_embedded else nullcontext():
                worker.run(descriptor)
            return
        # Raises ImproperlyConfigured. Not for a process of --workers: the file may have become invalid meanwhile.
        from_file(settings.MCP_SERVERS_FILE)
        count = options["workers"]
        if not 1 <= count <= MOST_WORKERS:
            raise CommandError(f"--workers is {count}; expected 1 to {MOST_WORKERS}, such as the number of processors.")
        host, port = options["host"], options["port"]
        try:
            listener = web.listen(host, port)  # first, so that nothing is set up if the port is taken
        except web.CannotListen as error:
            raise CommandError(str(error)) from None
        base = web.address(host, listener)
        if options["web_only"]:
            if not is_migrated():
                in_a_fork(first_start.migrate)  # creates no account: several of these processes may start at once
        else:
            credentials = None if first_start.is_over() else in_a_fork(first_start.prepare)
            self.stdout.write(welcome(base, credentials) if credentials else welcome_back(base))
        if settings.SECURE_COOKIES and not settings.SECURE_PROXY_SSL_HEADER:
            self.stderr.write(NO_PROXY)
        self.stdout.write(f"Sluice listens on {base} (Ctrl-C stops it).")
        self.stdout.flush()
        runs_tasks = not options["web_only"] and not settings.REDIS_URL
        is_alone = runs_tasks and count == 1 and settings.EMBEDDED_DATABASE
        write_behind.is_beside_another = settings.EMBEDDED_DATABASE and not is_alone
        with _tasks() if runs_tasks else nullcontext(), write_behind if is_alone else nullcontext():
            web.run(listener) if count == 1 else _run_workers(count, listener)


def _tasks() -> AbstractContextManager[object]:
    # Both load Celery, which a web process does not need.
    from gateway.celery import app
    from gateway.process.embedded_worker import worker_and_beat

    return worker_and_beat(app)


def _run_workers(count: int, listener: socket.socket) -> None:
    """Raises CommandError."""
    from gateway.pages.sums import answer_other_processes
    from gateway.process.place import NoPlace, own_directory
    from gateway.workers.supervisor import CannotStart, supervise

    answer_other_processes()
    try:
        with own_directory(settings.DATA_DIR) as directory:
            asyncio.run(supervise(count, listener, directory))
    except (NoPlace, CannotStart) as error:
        raise CommandError(str(error)) from None
