"""manage.py project add|list|sync|remove: the source trees that the codebase tools may read."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.connectors.codebase import projects
from gateway.connectors.codebase.indexing.foreground import IndexIncomplete, brought_up_to_date, in_words
from gateway.connectors.codebase.indexing.states import progress
from gateway.connectors.codebase.models import Project
from gateway.connectors.codebase.progress import Progress
from gateway.connectors.codebase.roots import ProjectRefused

WAIT = 600.0


class Command(BaseCommand):
    help = "Registers, lists and removes projects: git repositories on this machine. Their files are only read."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="register a git repository")
        add.add_argument("name", help="lower-case letters, digits, _ and -, e.g. web-shop")
        add.add_argument("path", help="the repository's root folder; below PROJECT_ROOTS, if that is set")
        actions.add_parser("list", help="list names, folders and the progress of each index")
        sync = actions.add_parser("sync", help="bring a project's index up to date now, and print its progress")
        sync.add_argument("name")
        sync.add_argument(
            "--wait", type=float, default=WAIT, metavar="SECONDS", help="fail after this time (%(default)s)"
        )
        remove = actions.add_parser("remove", help="forget a project; its folder stays")
        remove.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._act(options)
        except (ProjectRefused, IndexIncomplete) as error:
            raise CommandError(str(error)) from None

    def _act(self, options: dict[str, Any]) -> None:
        match options["action"]:
            case "add":
                project = projects.add(options["name"], options["path"])
                self.stdout.write(f"Added {project}: {project.path}")
                self.stdout.write(f"Sluice indexes it while it runs. To do it now: manage.py project sync {project}")
            case "remove":
                projects.remove(options["name"])
                self.stdout.write(f"Removed {options['name']}. Its folder is unchanged.")
            case "list":
                for project in Project.objects.select_related("index"):
                    state = getattr(project, "index", None)
                    shown = in_words(progress(state) if state else Progress())
                    self.stdout.write(f"{project.name}\t{project.path}\t{shown}")
            case "sync":
                for line in brought_up_to_date(projects.named(options["name"]), options["wait"]):
                    self.stdout.write(line)
