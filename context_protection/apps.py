from django.apps import AppConfig
from django.core.checks import register


class ContextProtectionConfig(AppConfig):
    name = "context_protection"
    verbose_name = "Context protection"

    def ready(self) -> None:
        from context_protection import checks

        register(checks.environment_makes_sense)
