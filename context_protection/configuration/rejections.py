"""Lists the rejected parts of the configuration, and why each was rejected."""

from context_protection.configuration import policies
from context_protection.layers.file.source import configuration_file
from context_protection.models import TokenBudget


def rejections() -> list[str]:
    """A sentence for each problem of the configuration file that this process has read, and for each invalid budget.
    The admin saves no invalid budget, so such a budget was saved in another way. Queries the database."""
    rejected = policies.with_last_good(TokenBudget.objects.budgets()).rejected
    return [*_of_file(), *(_of_budget(str(scope), [each.sentence for each in rejected[scope]]) for scope in rejected)]


def _of_file() -> list[str]:
    status = configuration_file.status
    return [f"The file {status.name} is not in force: {problem} {status.stays}" for problem in status.problems]


def _of_budget(scope: str, sentences: list[str]) -> str:
    return f"The budget for {scope} is not used: {' '.join(sentences)} The last valid one stays in force."
