"""manage.py unlock_login: clears the failed logins of a user name, so that it can log in again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gateway.logins import events, throttle
from gateway.logins.models import known_user


class Command(BaseCommand):
    help = "Forgets the failed logins of a name, so that it can log in again at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name, as it is typed at the login")
        parser.add_argument(
            "--address", default="", help="only where it was locked from this IP address; else everywhere"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        unlocked = throttle.unlock(options["name"], options["address"])
        if unlocked:
            events.note(events.SecurityEventKind.UNLOCKED, known_user(options["name"]), by="manage.py")
        where = "address" if unlocked == 1 else "addresses"
        self.stdout.write(f"Failed logins of {options['name']} were forgotten at {unlocked} {where}.")
