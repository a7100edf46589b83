from django.apps import AppConfig


class OpenApiConfig(AppConfig):
    name = "gateway.connectors.openapi"
    verbose_name = "Imported APIs"

    def ready(self) -> None:
        from context_protection.configuration.revisions import bump_when_changed
        from gateway.connectors.openapi.models import ImportedApi, ImportedOperation

        bump_when_changed(ImportedApi)
        bump_when_changed(ImportedOperation)
