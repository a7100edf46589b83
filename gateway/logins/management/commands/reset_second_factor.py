"""manage.py reset_second_factor: for users who have lost both the phone and the recovery codes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.logins import events, second_factor
from gateway.logins.models import known_user


class Command(BaseCommand):
    help = "Switches the second factor of a user off, so that the password is enough to log in and set it up again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name")

    def handle(self, *args: Any, **options: Any) -> None:
        user = known_user(options["name"])
        if user is None:
            raise CommandError(f"There is no user {options['name']}.")
        factor = second_factor.of(user)
        if factor is None:
            raise CommandError(f"{options['name']} has no second factor.")
        factor.delete()
        events.note(events.SecurityEventKind.SECOND_FACTOR_RESET, user, by="manage.py")
        self.stdout.write(f"The second factor of {options['name']} is switched off.")
