from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        from gateway.connectors.hostaway import operations as hostaway
        from gateway.connectors.hostaway.completing import IDENTIFIERS
        from gateway.connectors.hostaway.prompts import prompts as hostaway_prompts
        from gateway.connectors.results import operations as results
        from gateway.connectors.tools import operations as tools
        from gateway.operations import catalogue
        from gateway.prompts import prompts

        catalogue.offer(hostaway.operations())
        catalogue.offer(results.operations())
        catalogue.offer(tools.operations())
        prompts.offer(hostaway_prompts(), IDENTIFIERS)
