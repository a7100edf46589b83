"""System checks: an invalid policy in the environment stops the start, before any request is served."""

from typing import Any

from django.core.checks import Error

from context_protection.configuration.budgets import environment
from context_protection.core.policy import Kind, problems, resolve


def environment_makes_sense(**_: Any) -> list[Error]:
    found = {problem.sentence: problem for kind in Kind for problem in problems(resolve(kind, [environment()]))}
    return [
        Error(problem.sentence, hint=f"Change {problem.name.upper()} in the environment.", id="context_protection.E001")
        for problem in found.values()
    ]
