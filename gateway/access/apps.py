from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "gateway.access"
    verbose_name = "Access"
