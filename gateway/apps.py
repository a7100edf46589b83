from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        from gateway.connectors.hostaway import operations as hostaway
        from gateway.connectors.results import operations as results
        from gateway.connectors.tools import operations as tools
        from gateway.operations import catalogue

        catalogue.offer(hostaway.operations())
        catalogue.offer(results.operations())
        catalogue.offer(tools.operations())
