from django.apps import AppConfig


class CodebaseConfig(AppConfig):
    name = "gateway.connectors.codebase"
    verbose_name = "projects"
