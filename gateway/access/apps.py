from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "gateway.access"
    verbose_name = "Access"

    def ready(self) -> None:
        from context_protection.configuration.revisions import bump_when_changed
        from gateway.access.models import ApiKey

        bump_when_changed(ApiKey)
