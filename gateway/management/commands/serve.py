"""manage.py serve: web, worker and beat in one process."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.pages.client_config import welcome, welcome_back
from gateway.process import first_start, web
from gateway.process.embedded_worker import worker_and_beat

NO_PROXY = (
    "SECURE_COOKIES is set and BEHIND_PROXY is not: every page is redirected to https://, which this server does not "
    "speak itself. Put a proxy in front that ends TLS and sets X-Forwarded-Proto, and set BEHIND_PROXY=true."
)


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
        try:
            listener = web.listen(host, port)  # first, so that nothing is set up if the port is taken
        except web.CannotListen as error:
            raise CommandError(str(error)) from None
        base = web.address(host, listener)
        if options["web_only"]:
            first_start.migrate()  # creates no account: several of these processes may start at once
        else:
            credentials = first_start.prepare()
            self.stdout.write(welcome(base, credentials) if credentials else welcome_back(base))
        if settings.SECURE_COOKIES and not settings.SECURE_PROXY_SSL_HEADER:
            self.stderr.write(NO_PROXY)
        self.stdout.write(f"Sluice listens on {base} (Ctrl-C stops it).")
        self.stdout.flush()
        if options["web_only"] or settings.REDIS_URL:
            web.run(listener)
            return
        with worker_and_beat():
            web.run(listener)
