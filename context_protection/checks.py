"""System checks: the server does not start if the environment has an invalid policy."""

from typing import Any

from django.core.checks import Error

from context_protection.core.errors import nearest
from context_protection.core.policy import SETTINGS, Kind, problems, resolve
from context_protection.layers.budgets import environment

# Commands that run no other check can require those of this tag. They read no page, so they cost a start nothing.
POLICY_TAG = "policy"


def environment_makes_sense(**_: Any) -> list[Error]:
    layer = {name: value for name, value in environment().items() if name in SETTINGS}
    found = {problem.sentence: problem for kind in Kind for problem in problems(resolve(kind, [layer]))}
    unknown = environment().keys() - SETTINGS.keys()
    return [*map(_unknown, sorted(unknown)), *(_invalid(problem.name, problem.sentence) for problem in found.values())]


def _invalid(name: str, sentence: str) -> Error:
    hint = f"Change {SETTINGS[name].variable or name} in the environment, or {name} in CONTEXT_PROTECTION."
    return Error(sentence, hint=hint, id="context_protection.E001")


def _unknown(name: str) -> Error:
    similar = nearest(name, SETTINGS)
    return Error(
        f"CONTEXT_PROTECTION has the unknown setting {name!r}.",
        hint=f"Remove it, or rename it to {similar}." if similar else f"Remove it. Known: {', '.join(SETTINGS)}.",
        id="context_protection.E002",
    )
