from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        from gateway.connectors.hostaway.operations import operations
        from gateway.operations import catalogue

        catalogue.offer(operations())
