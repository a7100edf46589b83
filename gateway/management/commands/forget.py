"""manage.py forget: deletes the stored data of a caller, or all stored data that mention a guest."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from context_protection.configuration.revisions import revisions
from context_protection.stores import erasure as snapshots
from context_protection.stores.erasure import Wanted
from gateway.access.models import ApiKey
from gateway.mentions import mention_of, plain, reach_of
from telemetry import erasure

SHORTEST = 3  # characters of a guest's name; a shorter text would match nearly everything


class Command(BaseCommand):
    help = (
        "Deletes all records, stored arguments and snapshots of a caller, or all stored arguments, snapshots and "
        "messages of errors that mention a guest. There is no undo. Data that Sluice copies from an upstream must be "
        "deleted at the upstream."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--caller", metavar="NAME", help="the name of an API key")
        what.add_argument("--guest", metavar="TEXT", help="a name, address or number, in any case")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["caller"]:
            self._caller(options["caller"])
        else:
            self._guest(options["guest"])
        revisions.bump()  # every process drops its cached answers

    def _caller(self, name: str) -> None:
        key = ApiKey.objects.filter(name=name).first()
        deleted = snapshots.forget(Wanted(caller=f"key:{key.pk}")) if key else 0
        found = erasure.forget_caller(name)
        if not (key or found.records or found.arguments):
            raise CommandError(f"No data of a caller named {name!r} is stored. `manage.py apikey list` shows the keys.")
        self.stdout.write(
            f"Deleted of {name}: {found.records:,} records, {found.arguments:,} stored arguments, {deleted:,} "
            "snapshots."
        )
        if key and key.revoked_at is None:
            self.stdout.write(f"The key still works: `manage.py apikey revoke {name}` ends that.")

    def _guest(self, text: str) -> None:
        if len(plain(text.strip())) < SHORTEST:
            raise CommandError(f"--guest {text!r} is too short; expected at least {SHORTEST} characters.")
        is_mention, reach = mention_of(text.strip()), reach_of(text.strip())
        found = erasure.forget_mentions(is_mention)
        deleted = snapshots.forget(Wanted(is_mention=is_mention, reach=reach))
        self.stdout.write(
            f"Deleted where {text.strip()!r} is mentioned: {found.arguments:,} stored arguments, {deleted:,} "
            f"snapshots, and the messages of {found.records:,} records."
        )
