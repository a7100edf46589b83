from django.apps import AppConfig
from django.db.models.signals import m2m_changed


class AccessConfig(AppConfig):
    name = "gateway.access"
    verbose_name = "Access"

    def ready(self) -> None:
        from context_protection.configuration.revisions import bump_on_commit, bump_when_changed
        from gateway.access.models import ApiKey, ConnectorSwitch, FormerToolName, ToolSet

        for model in (ApiKey, ToolSet, ConnectorSwitch, FormerToolName):
            bump_when_changed(model)
        m2m_changed.connect(bump_on_commit, sender=ApiKey.tool_sets.through)
