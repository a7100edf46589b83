from django.apps import AppConfig


class CodebaseConfig(AppConfig):
    name = "gateway.connectors.codebase"
    verbose_name = "Codebase tools"

    def ready(self) -> None:
        from gateway.access import project_names
        from gateway.connectors.codebase import known_projects, removal  # noqa: F401 — removal connects its receiver

        project_names.provide(lambda: [each.name for each in known_projects.all_projects()])
