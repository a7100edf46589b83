"""manage.py apikey create|rotate|revoke|list: API keys of callers."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils import timezone

from context_protection.core.errors import nearest
from gateway.access.models import ApiKey
from gateway.access.project_names import project_names
from gateway.catalog.catalog import catalogue

LONGEST_TEXT = 100  # characters; what the columns can hold
MOST = {"days": 36_500, "daily_tokens": 2**31 - 1}  # a century; what the column can hold


class Command(BaseCommand):
    help = "Makes, rotates, revokes and lists API keys. A new secret is printed alone on stdout, once, and not stored."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a key, and print it")
        create.add_argument("name", help="whose key it is, e.g. claude-desktop")
        create.add_argument("--owner", default="", help="the person or team to ask about it")
        create.add_argument("--days", type=int, help="the number of days until it expires; default: never")
        create.add_argument("--daily-tokens", type=int, help="quota a day, as Claude counts tokens; default: none")
        create.add_argument("--reads-only", action="store_true", help="only tools that change nothing")
        create.add_argument("--tool", action="append", default=[], help="only this tool; may be repeated")
        create.add_argument("--project", action="append", default=[], help="may read this project; may be repeated")
        create.add_argument("--all-projects", action="store_true", help="may read all projects, also later ones")
        rotate = actions.add_parser("rotate", help="make a new secret, and print it; the old one works for 24 hours")
        rotate.add_argument("name")
        revoke = actions.add_parser("revoke", help="refuse a key from now on")
        revoke.add_argument("name")
        actions.add_parser("list", help="names, first characters and states")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["action"]:
            case "create":
                self.create(_text("The name", options["name"], least=1), _fields(options))
            case "rotate":
                self.stdout.write(self.active(options["name"]).rotate())
            case "revoke":
                self.revoke(options["name"])
            case "list":
                for key in ApiKey.objects.all():
                    self.stdout.write(f"{key.name}\t{key.prefix}…\t{key.state(timezone.now())[1]}")

    def create(self, name: str, fields: dict[str, Any]) -> None:
        try:
            with transaction.atomic():
                _, secret = ApiKey.objects.issue(name, **fields)
        except IntegrityError:
            raise CommandError(
                f"There is an active key named {name!r} already. Revoke it, or choose another name."
            ) from None
        self.stdout.write(secret)

    def revoke(self, name: str) -> None:
        self.active(name).revoke()
        self.stdout.write(f"Revoked {name}.")

    def active(self, name: str) -> ApiKey:
        key = ApiKey.objects.filter(name=name, revoked_at=None).first()
        if key is None:
            raise CommandError(f"There is no active key named {name!r}. `manage.py apikey list` shows them.")
        return key


def _text(what: str, text: str, *, least: int) -> str:
    """The text without spaces around it. Raises CommandError."""
    found = text.strip()
    if not least <= len(found) <= LONGEST_TEXT or not found.isprintable():
        raise CommandError(f"{what} is {text!r}; expected {least} to {LONGEST_TEXT} characters in one line.")
    return found


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a new key. Raises CommandError."""
    for name, most in MOST.items():
        if options[name] is not None and not 1 <= options[name] <= most:
            option = f"--{name.replace('_', '-')}"
            raise CommandError(f"{option} is {options[name]}; expected 1 to {most:,}, or leave it out.")
    catalogue.refresh()
    if unknown := [name for name in options["tool"] if catalogue.find(name) is None]:
        close = nearest(unknown[0], (each.name for each in catalogue))
        raise CommandError(f"There is no tool {unknown[0]!r}." + (f" The nearest is {close!r}." if close else ""))
    if unknown := [name for name in options["project"] if name not in project_names()]:
        close = nearest(unknown[0], project_names())
        shown = f"The nearest is {close!r}." if close else "`manage.py project list` shows them."
        raise CommandError(f"There is no project {unknown[0]!r}. {shown}")
    days = options["days"]
    return {
        "owner": _text("--owner", options["owner"], least=0),
        "expires_at": timezone.now() + timedelta(days=days) if days else None,
        "daily_tokens": options["daily_tokens"],
        "reads_only": options["reads_only"],
        "allowed_tools": options["tool"],
        "reads_all_projects": options["all_projects"],
        "projects": options["project"],
    }
