"""manage.py simulate_traffic: invented clients make real calls to a running server, so that dashboards have something
to show."""

import ipaddress
import math
import re
import signal
import sys
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gateway.process import first_start
from gateway.simulation import history, traffic
from gateway.simulation.allowance import Allowance
from gateway.simulation.states import STATES, CannotSimulate, TargetServer, measure, serving
from telemetry.rollups.builder import build_stale

MOST_CALLS = 100_000
PERIODS = {"h": timedelta(hours=1), "d": timedelta(days=1)}


class Command(BaseCommand):
    help = (
        "Makes real calls to a running server: five invented clients over REST, WebSocket and HTTP, with keys of their "
        f"own, whose names begin with {traffic.MARK!r}. They read the sample account, page, repeat themselves and make "
        "mistakes. Needs the server's own environment (DATA_DIR or DATABASE_URL)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        host = "127.0.0.1" if settings.HOST in ("0.0.0.0", "::") else settings.HOST  # noqa: S104 (not to listen on)
        parser.add_argument(
            "--url", default=f"http://{host}:{settings.PORT}", help="the server, on this machine (default: %(default)s)"
        )
        parser.add_argument("--calls", type=int, default=200, help="the most calls to make (default: %(default)s)")
        parser.add_argument("--seconds", type=float, default=30, help="the longest time to run (default: %(default)s)")
        parser.add_argument("--seed", type=int, default=1, help="another seed makes other calls")
        parser.add_argument(
            "--history",
            type=_period,
            metavar="PERIOD",
            help="then store the measured calls again with earlier times, over this period: 12h, 7d. Their request ids "
            f"begin with {history.REPLAYED!r}",
        )
        parser.add_argument(
            "--state",
            choices=STATES,
            help="instead, start a server of its own in DATA_DIR, which must be empty, on PORT, and hold it in a state "
            "that pages must show well: " + "; ".join(f"{name}: {state.what}" for name, state in STATES.items()),
        )
        parser.add_argument(
            "--hold", type=float, metavar="SECONDS", help="with --state: end after this time instead of at Ctrl-C"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        try:
            if options["state"]:
                self._hold(options)
            else:
                self._run(options)
        except (traffic.NoServer, history.NothingMeasured, CannotSimulate) as error:
            raise CommandError(str(error)) from None

    def _run(self, options: dict[str, Any]) -> None:
        base, began = options["url"].rstrip("/"), timezone.now()
        allowance = Allowance(options["calls"], options["seconds"])
        with traffic.keys() as secrets:
            traffic.run(base, secrets, allowance, options["seed"])
        self.stdout.write(f"{allowance.made} calls to {base}, {allowance.failed} of them answered with an error.")
        if options["history"]:
            first = began - options["history"]
            calls = history.measured(began, allowance.made)
            copies = history.replay(calls, first, began, options["seed"])
            self.stdout.write(f"{copies:,} copies of these calls, from {first:%Y-%m-%d %H:%M} UTC on.")

    def _hold(self, options: dict[str, Any]) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the server it started stops too
        state, credentials = STATES[options["state"]], _first_start()
        if state.past is not None:
            with serving(settings.PORT, state.environment) as base, traffic.keys() as secrets:
                calls = measure(TargetServer(base, next(iter(secrets.values())), options["seed"]), secrets)
            state.past(calls, options["seed"])
            build_stale()
        with serving(settings.PORT, state.environment) as base, traffic.keys() as secrets:
            server = TargetServer(base, next(iter(secrets.values())), options["seed"])
            state.enter(server, secrets)
            self.stdout.write(f"{base} is in the state {options['state']}: {state.what}.")
            self.stdout.write(f"Login admin, password {credentials.password}, key {credentials.key}. Ctrl-C ends it.")
            self.stdout.flush()
            until = math.inf if options["hold"] is None else time.monotonic() + options["hold"]
            with suppress(KeyboardInterrupt):
                while time.monotonic() < until:
                    state.keep(server)


def _first_start() -> first_start.FirstCredentials:
    """Raises CommandError unless the data directory is new."""
    if not settings.EMBEDDED_DATABASE or settings.REDIS_URL:
        raise CommandError("--state needs the embedded default: unset DATABASE_URL and REDIS_URL, and name a DATA_DIR.")
    credentials = first_start.prepare()
    if credentials is None:
        raise CommandError(
            f"--state needs a new data directory, and {settings.DATA_DIR} has users and keys. Name another: "
            "DATA_DIR=/tmp/sluice-state PORT=8001 manage.py simulate_traffic --state down"
        )
    return credentials


def _check(options: dict[str, Any]) -> None:
    """Raises CommandError."""
    base = options["url"]
    if not _is_this_machine(base):
        raise CommandError(
            f"--url is {base}; expected a server on this machine, such as http://127.0.0.1:8000. Simulated traffic is "
            "not sent to other machines."
        )
    if not 1 <= options["calls"] <= MOST_CALLS:
        raise CommandError(f"--calls is {options['calls']}; expected 1 to {MOST_CALLS}.")
    if not 0 < options["seconds"] <= 86_400:
        raise CommandError(f"--seconds is {options['seconds']:g}; expected more than 0, and at most a day (86400).")


def _is_this_machine(base: str) -> bool:
    parts = urlsplit(base)
    if parts.scheme != "http" or parts.hostname is None:
        return False
    if parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        return False


def _period(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,4})([hd])", text)
    longest = timedelta(days=settings.TELEMETRY_RETENTION_DAYS)
    if match is None or not timedelta() < (period := int(match[1]) * PERIODS[match[2]]) <= longest:
        raise CommandError(
            f"--history is {text!r}; expected hours or days, such as 12h or 7d, and at most {longest.days}d: older "
            "calls are deleted (TELEMETRY_RETENTION_DAYS)."
        )
    return period
