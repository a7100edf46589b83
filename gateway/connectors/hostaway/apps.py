from django.apps import AppConfig


class HostawayConfig(AppConfig):
    name = "gateway.connectors.hostaway"
    verbose_name = "Hostaway"
