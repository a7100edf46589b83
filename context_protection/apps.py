from django.apps import AppConfig


class ContextProtectionConfig(AppConfig):
    name = "context_protection"
    verbose_name = "Context protection"
