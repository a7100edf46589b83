"""manage.py tokens FILE…: counts the tokens of a text, by the formula and as Claude counts."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from context_protection.core import tokens
from context_protection.core.budget import dumps


class Command(BaseCommand):
    help = "Counts the tokens of files: by the formula (characters / 4 + 20 %), and as Claude counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--json", action="store_true", help="a JSON line per file")

    def handle(self, *args: Any, **options: Any) -> None:
        for name in options["files"]:
            try:
                text = Path(name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise CommandError(f"{name} cannot be read as text: {error}") from None
            figures = {
                "file": name,
                "characters": len(text),
                "formula": tokens.formula(text),
                "claude": tokens.claude.count(text),
            }
            if options["json"]:
                self.stdout.write(dumps(figures).decode())
            else:
                self.stdout.write("{formula:>10,} formula  {claude:>10,} claude  {file}".format(**figures))
        if tokens.claude.degraded:
            self.stderr.write(tokens.claude.degraded)
