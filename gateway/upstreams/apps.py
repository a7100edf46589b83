from django.apps import AppConfig


class UpstreamsConfig(AppConfig):
    name = "gateway.upstreams"
    verbose_name = "Upstreams"

    def ready(self) -> None:
        from context_protection.configuration.revisions import bump_when_changed
        from gateway.upstreams.models import UpstreamApi

        bump_when_changed(UpstreamApi)
