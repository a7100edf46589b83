"""manage.py serve: web, worker and beat in one process."""

import errno
import signal
import socket
import sys
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.process import first_start
from gateway.process.embedded import worker_and_beat


class Command(BaseCommand):
    help = (
        "Starts Sluice: web, Celery worker and beat in one process. The first start sets up the database, loads the "
        "sample account, and prints the first admin's login and key."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.HOST, help=f"address to listen on (HOST; now {settings.HOST})")
        parser.add_argument(
            "--port", type=int, default=settings.PORT, help=f"port to listen on (PORT; now {settings.PORT})"
        )
        parser.add_argument("--web-only", action="store_true", help="no worker and beat: they run elsewhere")

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        listener = listen(host, port)  # before anything else: nothing is set up for a port that is taken
        base = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        if options["web_only"]:
            first_start.migrate()  # the account is not theirs to make: many of them start at once
        elif credentials := first_start.prepare():
            self.stdout.write(first_start.welcome(base, credentials))
        self.stdout.write(f"Sluice listens on {base} (Ctrl-C stops it).")
        self.stdout.flush()
        # uvicorn raises the signal again when it has stopped; without a handler, nothing after it would run.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        if options["web_only"] or settings.REDIS_URL:
            run(listener)
            return
        with worker_and_beat():
            run(listener)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises CommandError that says what is in the way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise CommandError(
                f"Port {port} on {host} is taken. Stop what listens there, or choose another: PORT={port + 1} make run"
            ) from None
        raise CommandError(f"Cannot listen on {host} port {port}: {error}. Set HOST and PORT.") from None
    return listener


def run(listener: socket.socket) -> None:
    config = uvicorn.Config(
        "gateway.asgi:application",
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
        ws_max_size=4 * 1024 * 1024,
        server_header=False,
        proxy_headers=settings.SECURE_PROXY_SSL_HEADER is not None,
    )
    uvicorn.Server(config).run(sockets=[listener])
