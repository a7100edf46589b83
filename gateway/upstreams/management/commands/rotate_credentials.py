"""manage.py rotate_credentials: seals everything with the newest key, so that a former key can be removed."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.upstreams.auth.rotation import SealedValueCounts, count_by_key, rotate


class Command(BaseCommand):
    help = (
        "Re-encrypts the credentials of all upstreams, and the withheld values of stored objects, with the newest key. "
        "It can be stopped and run again at any time: each row is either done or unchanged."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="change nothing; say whether a former key is still needed, and fail if it is",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        counts = count_by_key() if options["check"] else rotate()
        self.stdout.write(_sentence(counts, checked=options["check"]))
        if counts.lost_content:
            self.stdout.write(
                f"{counts.lost_content} of these are Hostaway's objects. Their withheld values stay masked until "
                "`manage.py hostaway_sync --full` has read the account again; no key is needed for them."
            )
        if counts.lost:
            raise CommandError(
                f"No key opens the credential of {', '.join(counts.lost)}. Enter it again in the admin, or put the "
                "former key back, at the end of CREDENTIAL_KEYS or SECRET_KEY_FALLBACKS."
            )
        if options["check"] and counts.former:
            raise CommandError("A former key is still needed. Run `manage.py rotate_credentials` first.")


def _sentence(counts: SealedValueCounts, *, checked: bool) -> str:
    done = "sealed with a former key" if checked else "sealed again"
    lost = len(counts.lost) + counts.lost_content
    return f"{counts.newest} sealed with the newest key, {counts.former} {done}, {lost} cannot be opened."
