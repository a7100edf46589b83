"""manage.py config check|export|import|schema: configuration files, for people and pipelines."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction

from context_protection.configuration import policies
from context_protection.core.scopes import Scoped
from context_protection.layers import declarations
from context_protection.layers.budgets import Budgets
from context_protection.layers.file.documents import JSON, YAML, InvalidDocument
from context_protection.layers.file.schema import file_schema
from context_protection.layers.file.source import content_of
from context_protection.layers.file.text import written
from context_protection.layers.file_validation import Validation, contradictions, validated
from context_protection.layers.value_changes import ValueChange, set_values
from context_protection.models import SCOPE, TokenBudget
from context_protection.reasons import give_reason


class Command(BaseCommand):
    help = "Checks a configuration file, or exports the admin's budgets to one, or imports them from one."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        check = actions.add_parser(
            "check", help="shows what is wrong with a file; exits with 1 if it would be rejected"
        )
        check.add_argument("file")
        export = actions.add_parser("export", help="writes the admin's budgets to a file, or to stdout if it is -")
        export.add_argument("file")
        imported = actions.add_parser(
            "import", help="replaces the admin's budgets with those of a file, and shows the changes"
        )
        imported.add_argument("file")
        imported.add_argument("--dry-run", action="store_true", help="shows the changes only")
        actions.add_parser("schema", help="prints the JSON Schema of a configuration file, for editors")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["action"]:
            case "check":
                self.check_file(options["file"])
            case "export":
                self.export(options["file"])
            case "import":
                self.import_file(options["file"], dry_run=options["dry_run"])
            case "schema":
                self.stdout.write(json.dumps(file_schema(), indent=2))

    def check_file(self, path: str) -> None:
        try:
            budgets = policies.budgets()
            declarations.complete()
        except DatabaseError:
            self.stderr.write(
                "The database cannot be read: checked without the admin's budgets and imported operations."
            )
            budgets = Budgets({})
        found = self._read(path, budgets)
        self._show(found.changes)
        self.stdout.write(f"{path} is valid.")

    def export(self, path: str) -> None:
        ending = YAML[0] if path == "-" else Path(path).suffix.lower()
        if ending not in (*YAML, *JSON):
            raise CommandError(f"The name {path} must end in {', '.join((*YAML, *JSON))}.")
        text = written(TokenBudget.objects.scoped(), ending)
        if path == "-":
            self.stdout.write(text, ending="")
            return
        try:
            Path(path).write_text(text, "utf-8")
        except OSError as error:
            raise CommandError(f"{path} cannot be written ({error.strerror}).") from None
        self.stdout.write(f"Wrote {path}.")

    def import_file(self, path: str, *, dry_run: bool) -> None:
        declarations.complete()
        budgets = policies.budgets()
        found = self._read(path, Budgets({}))
        assert found.layer is not None
        new, saved = found.layer.values, TokenBudget.objects.scoped()
        if sentences := contradictions(new, budgets):
            raise CommandError(f"{path} is not imported:\n" + "\n".join(sentences))
        changes = set_values(saved, new)
        self._show(changes)
        if dry_run:
            self.stdout.write(f"Nothing was saved: {_counted(changes)} shown.")
            return
        _save(new, f"config import {Path(path).name}")
        self.stdout.write(f"Saved {_counted(changes)}.")

    def _read(self, path: str, budgets: Budgets) -> Validation:
        """Raises CommandError, with each problem as FILE:LINE: sentence."""
        try:
            content, _ = content_of(path)
        except InvalidDocument as error:
            raise CommandError(str(error)) from None
        found = validated(content, Path(path).suffix.lower(), budgets)
        for warning in found.warnings:
            self.stderr.write(f"{path}:{warning.line}: warning: {warning.sentence}")
        if found.problems:
            raise CommandError(
                "\n".join(f"{path}:{f'{each.line}:' if each.line else ''} {each.sentence}" for each in found.problems)
            )
        return found

    def _show(self, changes: Sequence[ValueChange]) -> None:
        for each in changes:
            self.stdout.write(f"{each.key}: {each.words}")


def _counted(changes: Sequence[ValueChange]) -> str:
    return "1 change" if len(changes) == 1 else f"{len(changes)} changes"


@transaction.atomic
def _save(values: Scoped, reason: str) -> None:
    """Replaces the saved budgets with those of `values`. A budget that does not change is not saved."""
    saved = {budget.scope: budget for budget in TokenBudget.objects.all()}
    for scope, budget in saved.items():
        if scope not in values:
            give_reason(budget, reason)
            budget.delete()
    for scope, settings in values.items():
        budget = saved.get(scope) or TokenBudget(**{name: getattr(scope, name) for name in SCOPE})
        new = {name: settings.get(name) for name in budget.layer()}
        if budget.pk is None or new != budget.layer():
            for name, value in new.items():
                setattr(budget, name, value)
            give_reason(budget, reason)
            budget.save()
