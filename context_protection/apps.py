from django.apps import AppConfig
from django.core.checks import register


class ContextProtectionConfig(AppConfig):
    name = "context_protection"
    verbose_name = "Context protection"

    def ready(self) -> None:
        from django.conf import settings

        from context_protection import checks
        from context_protection.configuration.changes import log_changes
        from context_protection.configuration.revisions import bump_when_changed
        from context_protection.core.cache_budget import DEFAULT_MEGABYTES, MEGABYTE, cache_budget
        from context_protection.models import TokenBudget

        # Other projects that use this application need not have the setting.
        cache_budget.set_limit(getattr(settings, "CACHE_MB", DEFAULT_MEGABYTES) * MEGABYTE)
        register(checks.environment_makes_sense, checks.POLICY_TAG)
        bump_when_changed(TokenBudget)
        log_changes()
