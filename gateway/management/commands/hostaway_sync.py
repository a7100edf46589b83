"""manage.py hostaway_sync: updates the local copy of the live Hostaway account now."""

import sys
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.connectors.hostaway import freshness, live, live_connection, sync
from gateway.connectors.hostaway.models import SyncState
from gateway.connectors.hostaway.sync import SyncResult
from gateway.connectors.hostaway.sync_states import NOT_AVAILABLE


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
        client = live_connection.client(account)
        result = sync.run(account.id, client, full=options["full"], without_pauses=True, progress=self._show)
        if result is SyncResult.BUSY:
            raise CommandError("Another sync is running. Try again later; one that hangs is replaced after 3 minutes.")
        for each in freshness.state():
            as_of = f"as of {each.as_of:%Y-%m-%d %H:%M} UTC" if each.as_of else "not complete yet"
            self.stdout.write(f"{each.resource}: {as_of}")
        failed = _failed()
        if result is SyncResult.UNFINISHED or failed:
            why = ", ".join(f"{state.resource}: {state.error}" for state in failed) or "interrupted"
            raise CommandError(f"Not all was read ({why}). {_advice(failed)}")
        if result is SyncResult.INCOMPLETE:
            raise CommandError(f"All was read, except for unreadable records: {_left_out()}. All others are stored.")

    def _show(self, resource: str, rows: int, total: int | None) -> None:
        of = f" of {total:,}" if total is not None else ""
        start, end = ("\r", "") if sys.stdout.isatty() else ("", "\n")
        self.stdout.write(f"{start}{resource}: {rows:,}{of} ", ending=end)


def _failed() -> list[SyncState]:
    """The resources whose last attempt failed, without those that the account does not have."""
    return list(SyncState.objects.exclude(error__in=("", NOT_AVAILABLE)).order_by("resource"))


def _advice(failed: Sequence[SyncState]) -> str:
    pauses = [state.retry_at for state in failed if state.retry_at]
    if not pauses:
        return "Run it again: it continues there."
    return f"The worker tries it again after {max(pauses):%Y-%m-%d %H:%M} UTC, and this command at once."


def _left_out() -> str:
    """Objects that cannot be read, for example: reservations 4711 (too_deep)"""
    return ", ".join(
        f"{state.resource} {identifier} ({why})"
        for state in SyncState.objects.order_by("resource")
        for identifier, why in state.left_out.items()
    )
