"""manage.py project add|list|remove: the source trees that the codebase tools may read."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.connectors.codebase import projects
from gateway.connectors.codebase.models import Project


class Command(BaseCommand):
    help = "Registers, lists and removes projects: git repositories on this machine. Their files are only read."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="register a git repository")
        add.add_argument("name", help="lower-case letters, digits, _ and -, e.g. web-shop")
        add.add_argument("path", help="the repository's root folder; below PROJECT_ROOTS, if that is set")
        actions.add_parser("list", help="names and folders")
        remove = actions.add_parser("remove", help="forget a project; its folder stays")
        remove.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._act(options)
        except projects.ProjectRefused as error:
            raise CommandError(str(error)) from None

    def _act(self, options: dict[str, Any]) -> None:
        match options["action"]:
            case "add":
                project = projects.add(options["name"], options["path"])
                self.stdout.write(f"Added {project}: {project.path}")
            case "remove":
                projects.remove(options["name"])
                self.stdout.write(f"Removed {options['name']}. Its folder is unchanged.")
            case "list":
                for project in Project.objects.all():
                    self.stdout.write(f"{project.name}\t{project.path}")
