from functools import partial

from django.apps import AppConfig
from django.apps import apps as django_apps
from django.db.models.signals import post_migrate


class GatewayConfig(AppConfig):
    name = "gateway"

    def ready(self) -> None:
        from context_protection.layers import declarations
        from gateway import change_events
        from gateway.access.switches import switched_off
        from gateway.argument_masks import masked
        from gateway.catalog.catalog import catalogue
        from gateway.catalog.prompts import prompts
        from gateway.connectors import connectors
        from gateway.pages.upstream_metrics import UpstreamCollector
        from gateway.process import memory
        from gateway.replay import run
        from gateway.telemetry_facts import provide
        from gateway.upstream_probes import probe_now
        from gateway.upstreams import probes
        from telemetry import arguments, processes
        from telemetry.counters import REGISTRY
        from telemetry.pages import replays

        REGISTRY.register(UpstreamCollector())
        _give_alerts_the_network()
        arguments.mask_with(masked)
        processes.probe_with(probe_now)
        change_events.follow()
        replays.provide(run)
        switchable: dict[str, list[str]] = {}
        for connector in connectors():
            operations = connector.operations()
            catalogue.offer(operations, connector.name)
            if connector.switchable:
                switchable[connector.name] = [each.name for each in operations]
            if connector.source is not None:
                catalogue.follow(connector.source, connector.name)
            probes.probe_also(connector.probes)
            prompts.offer(connector.prompts(), connector.identifiers)
        declarations.complete_with(catalogue.refresh)
        catalogue.obey(partial(switched_off, switchable))
        provide()
        memory.keep_what_is_loaded()
        memory.use_one_arena()
        post_migrate.connect(
            partial(_add_switches, list(switchable)), sender=django_apps.get_app_config("access"), weak=False
        )


def _add_switches(names: list[str], **_: object) -> None:
    from gateway.access.switches import add

    add(names)


def _give_alerts_the_network() -> None:
    """Gives alerts the network and the vault, because telemetry itself has neither."""
    from gateway import notification_network
    from gateway.upstreams.auth.vault import vault
    from telemetry.alerts import channels

    channels.send_with(notification_network.post, notification_network.address_problem)
    channels.seal_with(
        lambda secret: vault().seal(secret), lambda sealed, channel: vault().open(sealed, upstream=channel)
    )
