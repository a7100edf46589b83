"""The budgets in force, and the effective policy of each operation and caller.

The layers, weakest first: built-in defaults, the operation's own settings, the configuration file, the environment
(`settings.CONTEXT_PROTECTION`), the budgets of the admin, the caller's arm. Within the file and within the admin's, the
most specific scope wins (`core/scopes.py`).
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.conf import settings

from context_protection.core.cached_property import cached_property
from context_protection.core.policy import SETTINGS, Policy, problems, resolve
from context_protection.core.scopes import EVERYTHING, Breadth, BudgetScope, RankedScopes, Scoped, Values
from context_protection.core.setting import Layer, Problem
from context_protection.layers.arms import Arm, ArmChooser
from context_protection.layers.declarations import UNDECLARED, declared
from context_protection.layers.file.documents import FileProblem
from context_protection.layers.file.layer import NO_FILE, FileLayer
from context_protection.layers.withheld_names import WithheldNames

logger = logging.getLogger(__name__)


class AppliedPolicy(NamedTuple):
    """The policy of a call, and the name of the caller's arm; "" if the call takes part in no trial."""

    policy: Policy
    arm: str


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Where the effective value of a setting comes from. `scope`: the one that won; None for the default and the
    environment. `line`: the line in the file."""

    layer: Layer
    scope: BudgetScope | None = None
    line: int | None = None

    def words(self, at: BudgetScope) -> str:
        """The source as the admin shows it for the budget `at`."""
        if self.layer is Layer.FILE:
            return f"file, line {self.line}"
        if self.scope is not None:
            return "set here" if self.scope == at else f"set for {self.scope}"
        return "built-in default" if self.layer is Layer.DEFAULT else str(self.layer)


@dataclass(frozen=True, slots=True)
class BudgetProblem:
    """An invalid combination of settings, with the operation and the caller that have it."""

    at: BudgetScope
    problem: Problem


@dataclass(frozen=True)
class Budgets:
    """The budgets of one configuration. `rejected`: what is wrong with those that are not used."""

    admin: Scoped
    file: FileLayer = NO_FILE
    choosers: tuple[ArmChooser, ...] = ()
    rejected: Mapping[BudgetScope, list[Problem]] = field(default_factory=dict)
    resolved: dict[tuple[str, str, str], AppliedPolicy] = field(default_factory=dict)

    def valid(self, last: "Budgets | None") -> "Budgets":
        """The budgets, with those of `last` in place of invalid ones. Only a write that bypasses the admin can leave an
        invalid budget."""
        rejected = {scope: found for scope, values in self.admin.items() if (found := _problems(values))}
        before = last.admin if last is not None else {}
        admin = {scope: before.get(scope, {}) if scope in rejected else each for scope, each in self.admin.items()}
        return Budgets(admin, self.file, self.choosers, rejected)

    def policy(self, operation: str, caller: str = "") -> Policy:
        """The effective policy. `caller`: the name of an API key; "": callers without budgets of their own."""
        return self.applied(operation, caller).policy

    def applied(self, operation: str, caller: str) -> AppliedPolicy:
        """The policy of a call, with the caller's arm. It is cached for declared operations, and by caller only if the
        caller has budgets of its own, because there may be many callers, with arbitrary names."""
        arm = self._arm(operation, caller) if self.choosers and caller else None
        key = operation, self.own(caller), arm.name if arm is not None else ""
        if key in self.resolved:
            return self.resolved[key]
        applied = self._with_arm(BudgetScope(operation, caller=key[1]), arm)
        if operation in declared or not operation:
            self.resolved[key] = applied
        return applied

    def arm_name(self, operation: str, caller: str) -> str:
        """The caller's arm for the operation; "" without one."""
        return self.applied(operation, caller).arm if self.choosers else ""

    def withheld(self, caller: str) -> WithheldNames:
        """The names that are withheld from a caller, by connector."""
        everywhere = self.resolve(BudgetScope(caller=caller)).withheld
        connectors = sorted({scope.connector for scope in (*self.admin, *self.file.values) if scope.connector})
        found = {each: self.resolve(BudgetScope(connector=each, caller=caller)).withheld for each in connectors}
        return WithheldNames(everywhere, tuple((name, each) for name, each in found.items() if each != everywhere))

    def own(self, caller: str) -> str:
        """The caller, if it has budgets of its own, else "". Callers with the same result have the same policies, apart
        from their arms."""
        return caller if caller in self.callers else ""

    @cached_property
    def callers(self) -> frozenset[str]:
        """The callers that have budgets of their own."""
        return frozenset(scope.caller for scope in (*self.admin, *self.file.values) if scope.caller)

    def resolve(self, at: BudgetScope, arm: Values | None = None) -> Policy:
        """The policy of an operation and a caller, or the policy that all operations of a connector or a pattern share.
        Not cached. `arm`: values above all layers."""
        layers = [values for _, values in self._layers(at)]
        return resolve(declared.get(at.operation, UNDECLARED).kind, [*layers, arm or {}])

    def with_budget(self, scope: BudgetScope, values: Values) -> "Budgets":
        """The budgets if the admin's budget for the scope had these values."""
        return Budgets({**self.admin, scope: values}, self.file, self.choosers)

    def places(self) -> list[BudgetScope]:
        """Where effective values can differ: all operations and each one, for all callers and for each caller with
        budgets of its own."""
        named = (each.operation for each in (*self.admin, *self.file.values) if each.breadth is Breadth.OPERATION)
        names = dict.fromkeys(["", *list(declared), *named])
        return [BudgetScope(name, caller=caller) for caller in ["", *sorted(self.callers)] for name in names]

    def problems(self) -> list[BudgetProblem]:
        """Invalid combinations of settings. A problem of all callers of an operation is listed once."""
        found: dict[tuple[str, Problem], BudgetProblem] = {}
        for at in self.places():
            for each in problems(self.resolve(at)):
                found.setdefault((at.operation, each), BudgetProblem(at, each))
        return list(found.values())

    def source(self, at: BudgetScope, name: str) -> ValueSource:
        """Where the effective value of the setting `name` comes from, regardless of arms."""
        setting = [source for source, values in self._layers(at) if values.get(name) is not None]
        last = setting[-1] if setting else ValueSource(Layer.DEFAULT)
        if last.layer is Layer.FILE and last.scope is not None:
            return ValueSource(Layer.FILE, last.scope, self.file.line(last.scope, name))
        return last

    def problems_of_file(self) -> list[FileProblem]:
        """The contradictions within the file, and between it and other layers. Each names a line of the file."""
        found: dict[str, FileProblem] = {}
        for each in self.problems():
            sources = [(name, self.source(each.at, name)) for name in SETTINGS if each.problem.concerns(name)]
            line = next((source.line for _, source in sources if source.layer is Layer.FILE), None)
            if line is None:
                continue
            others = [f"{SETTINGS[name].canonical_name}: {_place(source)}" for name, source in sources]
            sentence = f"{each.problem.sentence} This applies to {each.at} ({'; '.join(others)})."
            found.setdefault(
                each.problem.sentence, FileProblem(line, SETTINGS[each.problem.name].canonical_name, sentence)
            )
        return list(found.values())

    def _layers(self, at: BudgetScope) -> Iterator[tuple[ValueSource, Values]]:
        """The values of each layer, from the weakest to the strongest."""
        about = declared.get(at.operation, UNDECLARED)
        connector = at.connector or about.connector
        yield ValueSource(Layer.DEFAULT), about.settings
        for scope, values in self._of_file.covering(at, connector):
            yield ValueSource(Layer.FILE, scope), values
        yield ValueSource(Layer.ENVIRONMENT), environment()
        for scope, values in self._of_admin.covering(at, connector):
            yield ValueSource(Layer.ADMIN, scope), values

    @cached_property
    def _of_file(self) -> RankedScopes:
        return RankedScopes(self.file.values)

    @cached_property
    def _of_admin(self) -> RankedScopes:
        return RankedScopes(self.admin)

    def _arm(self, operation: str, caller: str) -> Arm | None:
        return next((arm for each in self.choosers if (arm := each.arm_of(operation, caller)) is not None), None)

    def _with_arm(self, at: BudgetScope, arm: Arm | None) -> AppliedPolicy:
        if arm is None:
            return AppliedPolicy(self.resolve(at), "")
        policy = self.resolve(at, arm.values)
        if found := problems(policy):
            problem = {"arm": arm.name, "operation": at.operation, "problem": found[0].sentence}
            logger.warning("the values of an arm are not used", extra=problem)
            return AppliedPolicy(self.resolve(at), "")
        return AppliedPolicy(policy, arm.name)


def _place(source: ValueSource) -> str:
    return f"admin, {source.scope}" if source.layer is Layer.ADMIN else source.words(EVERYTHING)


def _problems(values: Values) -> list[Problem]:
    given = ((SETTINGS[name], value) for name, value in values.items() if value is not None)
    return [problem for setting, value in given if (problem := setting.problem(value))]


def environment() -> Values:
    layer: Values = getattr(settings, "CONTEXT_PROTECTION", {})
    return layer
