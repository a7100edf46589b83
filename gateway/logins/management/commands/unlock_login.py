"""manage.py unlock_login: clears the failed logins of a user name, so that the user can log in again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from gateway.logins import events, throttle
from gateway.logins.models import known_user


class Command(BaseCommand):
    help = "Clears the failed logins of a user name, so that the user can log in again at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name, as it is typed at the login")
        parser.add_argument("--address", default="", help="unlock only for this IP address; without it, for all")

    def handle(self, *args: Any, **options: Any) -> None:
        unlocked = throttle.unlock(options["name"], options["address"])
        if unlocked:
            events.note(events.SecurityEventKind.UNLOCKED, known_user(options["name"]), by="manage.py")
        where = "address" if unlocked == 1 else "addresses"
        self.stdout.write(f"Failed logins of {options['name']} were cleared for {unlocked} {where}.")
