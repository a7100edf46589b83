from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TelemetryConfig(AppConfig):
    name = "telemetry"
    verbose_name = "Telemetry"

    def ready(self) -> None:
        from telemetry.alerts import shipped_rules

        post_migrate.connect(shipped_rules.create, sender=self)
