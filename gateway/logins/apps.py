from django.apps import AppConfig


class LoginsConfig(AppConfig):
    name = "gateway.logins"
    verbose_name = "Logins"

    def ready(self) -> None:
        from gateway.logins import signals  # noqa: F401  (connects its receivers)
