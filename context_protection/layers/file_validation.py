"""Validates a configuration file together with the other layers, without applying it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from context_protection.core.errors import nearest
from context_protection.core.scopes import Breadth, Scoped
from context_protection.layers.budgets import Budgets
from context_protection.layers.declarations import declared
from context_protection.layers.differences import effective_values
from context_protection.layers.file.documents import FileProblem, InvalidDocument, parsed
from context_protection.layers.file.layer import FileLayer, layer_of
from context_protection.layers.value_changes import ValueChange


@dataclass(frozen=True, slots=True)
class Validation:
    """`problems`: if there is one, the file would be rejected. `warnings`: about names of operations and connectors
    that do not exist now. `changes`: how effective values would change if the file came into force now. `layer`: None
    if the file cannot be parsed."""

    problems: Sequence[FileProblem]
    warnings: Sequence[FileProblem] = ()
    changes: Sequence[ValueChange] = ()
    layer: FileLayer | None = None


def validated(content: bytes, ending: str, budgets: Budgets) -> Validation:
    """`ending`: the end of the file's name, such as `.yaml`. `budgets`: the budgets in force."""
    try:
        layer, problems = layer_of(parsed(content, ending))
    except InvalidDocument as error:
        return Validation([error.problem])
    warnings = list(_unknown_names(layer))
    changed = replace(budgets, file=layer, resolved={})
    problems = problems or changed.problems_of_file()
    return Validation(problems, warnings, () if problems else effective_values(budgets, changed), layer)


def _unknown_names(layer: FileLayer) -> Iterator[FileProblem]:
    """Unknown operations and connectors are no errors, because a later import may add them."""
    connectors = {each.connector for each in declared.values()}
    for scope in layer.values:
        line = min(layer.lines[scope, name] for name in layer.values[scope])
        if scope.breadth is Breadth.OPERATION and scope.operation not in declared:
            yield _unknown(line, "operation", scope.operation, list(declared))
        if scope.breadth is Breadth.CONNECTOR and scope.connector not in connectors:
            yield _unknown(line, "connector", scope.connector, sorted(connectors))


def _unknown(line: int, what: str, name: str, known: list[str]) -> FileProblem:
    close = nearest(name, known)
    advice = f" Did you mean {close}?" if close else ""
    return FileProblem(line, name, f"There is no {what} {name} now.{advice}")


def contradictions(values: Scoped, budgets: Budgets) -> list[str]:
    """Sentences that say why the admin would reject these budgets."""
    found = Budgets(values, budgets.file).problems()
    return [f"{each.problem.sentence} This applies to {each.at}." for each in found]
