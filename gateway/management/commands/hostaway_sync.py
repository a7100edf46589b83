"""manage.py hostaway_sync: updates the local copy of the live Hostaway account now."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.connectors.hostaway import freshness, live, live_connection, sync
from gateway.connectors.hostaway.models import SyncState
from gateway.connectors.hostaway.sync import SyncResult


class Command(BaseCommand):
    help = (
        "Reads the changes at Hostaway. The first sync reads everything and replaces the sample account. An "
        "interrupted sync continues where it stopped. Needs HOSTAWAY_ACCOUNT_ID and HOSTAWAY_API_SECRET."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--full", action="store_true", help="read the whole account again")

    def handle(self, *args: Any, **options: Any) -> None:
        account = live.account()
        if account is None:
            raise CommandError("There is no account to read: set HOSTAWAY_ACCOUNT_ID and HOSTAWAY_API_SECRET.")
        result = sync.run(account.id, live_connection.client(account), full=options["full"], progress=self._show)
        if result is SyncResult.BUSY:
            raise CommandError("Another sync is running. Try again later; one that hangs is replaced after 3 minutes.")
        errors = SyncState.objects.exclude(error="").values_list("resource", "error")
        for each in freshness.state():
            as_of = f"as of {each.as_of:%Y-%m-%d %H:%M} UTC" if each.as_of else "not complete yet"
            self.stdout.write(f"{each.resource}: {as_of}")
        if result is SyncResult.UNFINISHED:
            why = ", ".join(f"{resource}: {error}" for resource, error in errors) or "interrupted"
            raise CommandError(f"Not all was read ({why}). Run it again: it continues there.")
        if result is SyncResult.INCOMPLETE:
            raise CommandError(f"All was read, except for unreadable records: {_left_out()}. All others are stored.")

    def _show(self, resource: str, rows: int, total: int | None) -> None:
        of = f" of {total:,}" if total is not None else ""
        start, end = ("\r", "") if sys.stdout.isatty() else ("", "\n")
        self.stdout.write(f"{start}{resource}: {rows:,}{of} ", ending=end)


def _left_out() -> str:
    """Objects that cannot be read, for example: reservations 4711 (too_deep)"""
    return ", ".join(
        f"{state.resource} {identifier} ({why})"
        for state in SyncState.objects.order_by("resource")
        for identifier, why in state.left_out.items()
    )
