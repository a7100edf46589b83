from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "gateway.staff.experiments"
    verbose_name = "Experiments"

    def ready(self) -> None:
        from context_protection.configuration import policies
        from context_protection.configuration.revisions import bump_when_changed
        from gateway.dispatch import observers
        from gateway.staff.experiments import shadow_sizes
        from gateway.staff.experiments.chooser import choosers
        from gateway.staff.experiments.models import Experiment

        bump_when_changed(Experiment)
        policies.choose_arms_with(choosers)
        observers.observe_with(shadow_sizes.consider)
