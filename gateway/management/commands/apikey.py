"""manage.py apikey create|revoke|list: API keys of callers."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction

from gateway.access.models import ApiKey


class Command(BaseCommand):
    help = "Makes, revokes and lists API keys. A new key is printed alone on stdout, once; only its hash is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a key, and print it")
        create.add_argument("name", help="whose key it is, e.g. claude-desktop")
        revoke = actions.add_parser("revoke", help="refuse a key from now on")
        revoke.add_argument("name")
        actions.add_parser("list", help="names, first characters and states")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["action"]:
            case "create":
                self.create(options["name"])
            case "revoke":
                self.revoke(options["name"])
            case "list":
                for key in ApiKey.objects.all():
                    state = "revoked" if key.revoked_at else "active"
                    self.stdout.write(f"{key.name}\t{key.prefix}…\t{state}")

    def create(self, name: str) -> None:
        try:
            with transaction.atomic():
                _, secret = ApiKey.objects.issue(name)
        except IntegrityError:
            raise CommandError(
                f"There is an active key named {name!r} already. Revoke it, or choose another name."
            ) from None
        self.stdout.write(secret)

    def revoke(self, name: str) -> None:
        key = ApiKey.objects.filter(name=name, revoked_at=None).first()
        if key is None:
            raise CommandError(f"There is no active key named {name!r}. `manage.py apikey list` shows them.")
        key.revoke()
        self.stdout.write(f"Revoked {name}.")
