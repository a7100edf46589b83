from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        from gateway.catalog.catalog import catalogue
        from gateway.catalog.prompts import prompts
        from gateway.celery import app
        from gateway.connectors import connectors

        for connector in connectors():
            catalogue.offer(connector.operations())
            if connector.source is not None:
                catalogue.follow(connector.source)
            prompts.offer(connector.prompts(), connector.identifiers)
            app.conf.beat_schedule.update(connector.schedule)
