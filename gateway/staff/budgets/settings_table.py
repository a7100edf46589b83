"""The settings of a budget as its page shows them: by group, with the value in force, its source, and the new value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.forms import BoundField

from context_protection.admin import unit_of
from context_protection.core.policy import SETTINGS, Kind, Policy
from context_protection.core.scopes import Breadth, BudgetScope
from context_protection.core.setting import Layer, Setting, SettingGroup
from context_protection.layers.budgets import Budgets
from context_protection.layers.declarations import declared
from gateway.staff.budgets.form import BudgetForm
from gateway.staff.budgets.scopes import covered, link_to

# Settings that concern only some kinds of tools; the others concern all.
KINDS: Mapping[str, frozenset[Kind]] = {
    "default_page_size": frozenset({Kind.LIST}),
    "max_page_size": frozenset({Kind.LIST}),
    "pagination": frozenset({Kind.LIST}),
    "meta_on_small_lists": frozenset({Kind.LIST}),
    "list_format": frozenset({Kind.LIST}),
    "summarization": frozenset({Kind.LIST, Kind.RECORD, Kind.ACTION}),
    "summary_fields": frozenset({Kind.LIST, Kind.RECORD, Kind.ACTION}),
    "chunking": frozenset({Kind.TEXT}),
    "chunk_size": frozenset({Kind.TEXT}),
    "chunk_tokens": frozenset({Kind.TEXT}),
}
# Labels on the page that differ from the setting's name.
LABELS: Mapping[str, str] = {
    "token_budget_threshold": "Budget",
    "hard_cap": "Hard cap",
    "ruler": "Decided by",
    "default_page_size": "Rows a page",
    "max_page_size": "Rows a page, at most",
    "chunk_size": "Lines of a log in a chunk",
    "chunk_tokens": "Prose in a chunk",
    "summary_fields": "Fields in short answers",
    "summarization": "Short answers",
    "meta_on_small_lists": "Paging facts on short lists",
    "list_format": "Form of lists",
    "timeout_seconds": "Total timeout",
    "cache_seconds": "Reuse of responses",
    "withheld_fields": "Withheld fields",
}
FIRST = ("token_budget_threshold", "hard_cap", "ruler", "default_page_size")  # never folded
UNITS = {"seconds": "seconds"}  # the labels contain other units


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One setting. `source`: where its value is from, with a link to the budget that sets it. `reach`: how many of the
    scope's tools a new value would change. `elsewhere`: why this scope cannot set it, if there is no field."""

    name: str
    label: str
    key: str
    help: str
    value: str
    unit: str
    source: str
    source_link: str
    reach: str
    elsewhere: str
    field: BoundField | None


@dataclass(frozen=True, slots=True)
class BudgetLineGroup:
    """`is_open`: a value is set here, or is wrong."""

    title: str
    lines: Sequence[BudgetLine]
    is_open: bool

    @property
    def count_set(self) -> int:
        return sum(line.source == "set here" for line in self.lines)


def concerns(setting: Setting, scope: BudgetScope) -> bool:
    """Whether the scope can have the setting, and it can change an answer of the scope's tools."""
    if setting.misplaced(scope.breadth):
        return False
    kinds = KINDS.get(setting.name)
    if kinds is None or scope.breadth is not Breadth.OPERATION:
        return True
    return declared[scope.operation].kind in kinds if scope.operation in declared else True


def groups_of(scope: BudgetScope, budgets: Budgets, form: BudgetForm) -> tuple[BudgetLineGroup, list[BudgetLineGroup]]:
    """The lines that are always open, and the folded groups."""
    policy, tools = budgets.resolve(scope), covered(scope)
    lines = {
        name: _line(setting, scope, budgets, policy, tools, form)
        for name, setting in SETTINGS.items()
        if concerns(setting, scope) or setting.whole_connectors_only  # the latter are in force here too
    }
    first = BudgetLineGroup("Budget", [lines[name] for name in FIRST if name in lines], is_open=True)
    groups = []
    for group in SettingGroup:
        own = [line for name, line in lines.items() if SETTINGS[name].group is group and name not in FIRST]
        if own:
            is_open = any(line.source == "set here" or (line.field and line.field.errors) for line in own)
            groups.append(BudgetLineGroup(group.value, own, bool(is_open)))
    return first, groups


def _line(
    setting: Setting, scope: BudgetScope, budgets: Budgets, policy: Policy, tools: Sequence[str], form: BudgetForm
) -> BudgetLine:
    source = budgets.source(scope, setting.name)
    is_elsewhere = source.scope is not None and source.scope != scope
    return BudgetLine(
        name=setting.name,
        label=label_of(setting),
        key=setting.canonical_name,
        help=setting.help,
        value=setting.shown(getattr(policy, setting.name)),
        unit=unit_of(setting, policy.ruler) if setting.unit == "tokens" else UNITS.get(setting.unit, ""),
        source=source.words(scope),
        source_link=link_to(source.scope) if is_elsewhere and source.scope else "",
        reach=_reach(setting.name, scope, budgets, tools),
        elsewhere=setting.misplaced(scope.breadth),
        field=form[setting.name] if setting.name in form.fields else None,
    )


def label_of(setting: Setting) -> str:
    return LABELS.get(setting.name, setting.name.replace("_", " ").capitalize())


def _reach(name: str, scope: BudgetScope, budgets: Budgets, tools: Sequence[str]) -> str:
    """How many of the tools a new value changes: those with a stronger budget of the admin keep their value. Empty for
    one tool."""
    if scope.breadth is Breadth.OPERATION or not tools:
        return ""
    sources = [budgets.source(BudgetScope(tool, caller=scope.caller), name) for tool in tools]
    others = [each.scope for each in sources if each.layer is Layer.ADMIN and each.scope is not None]
    changed = len(tools) - sum(each.rank > scope.rank for each in others)
    if changed == len(tools):
        return f"all {changed} tools"
    return f"{changed} of {len(tools)} tools; the others have their own"
