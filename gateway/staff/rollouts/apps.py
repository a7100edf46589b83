from django.apps import AppConfig


class RolloutsConfig(AppConfig):
    name = "gateway.staff.rollouts"
    verbose_name = "Rollouts"

    def ready(self) -> None:
        from context_protection.configuration import policies
        from context_protection.configuration.revisions import bump_when_changed
        from gateway.staff.rollouts.chooser import choosers
        from gateway.staff.rollouts.models import Rollout

        bump_when_changed(Rollout)
        policies.choose_arms_with(choosers)
