from django.apps import AppConfig
from django.apps import apps as installed
from django.db.models.signals import post_migrate


class LoginsConfig(AppConfig):
    name = "gateway.logins"
    verbose_name = "Logins"

    def ready(self) -> None:
        from gateway.logins import (
            roles,
            signals,  # noqa: F401  (connects its receivers)
        )

        with_models = [each for each in installed.get_app_configs() if each.models_module is not None]
        post_migrate.connect(roles.create, sender=with_models[-1])
