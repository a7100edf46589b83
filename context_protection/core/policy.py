"""The frozen settings of one call (law 6), and how they are resolved from layers.

defaults < file < environment < admin < arm: a value set in a layer overrides all layers below it, including the
built-in default of a kind of operation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from context_protection.core.setting import Problem, Setting, SettingGroup, setting, settings_of


class Kind(StrEnum):
    """The kind of an operation, by its answer."""

    LIST = "list"
    RECORD = "record"
    TEXT = "text"
    ACTION = "action"


class RulerName(StrEnum):
    """The token count that thresholds use. The hard cap always uses Claude's."""

    FORMULA = "formula"
    CLAUDE = "claude"


class ListFormat(StrEnum):
    """The form of the rows of a list, unless the caller chooses one."""

    ITEMS = "items"
    TABLE = "table"
    AUTO = "auto"


_NAME, _FIELD = r" *[A-Za-z_][A-Za-z0-9_-]{0,39} *", r" *[^ ,;=]+ *"
_STEP = r"[^.,;=]*[^\W_][^.,;=]*"
PATH = (
    rf"(?=[^,]{{1,100}}(,|$)){_STEP}(\.({_STEP}|\*))*"  # of a field, at any depth: guestPhone, items.*.name, Alarm code
)
_SECTION = f"{_NAME}={_FIELD}(,{_FIELD})*"
SECTIONS = f"({_SECTION}(;{_SECTION})*)?"  # money=price,tax*; guest=guest*


NOTHING = "none"  # as withheld_fields: nothing is withheld, even if a wider scope withholds fields


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of one call, and the one place where a setting is declared (docs/engineers.md has an example).

    Each minimum leaves room for an envelope's own text. The maximum number of tokens exists because Claude's clients
    move results of more than 50,000 characters out of the context.
    """

    default_page_size: int = setting(
        50,
        unit="rows",
        range=(1, 1000),
        group=SettingGroup.PAGES,
        help="Rows of a page without a limit.",
        aliases=("pageSize", "page_size"),
    )
    max_page_size: int = setting(
        200,
        unit="rows",
        range=(1, 1000),
        group=SettingGroup.PAGES,
        help="The highest limit that a caller may set.",
    )
    # A record of more than 2,000 tokens becomes a preview (US2-1), a list of more than 4,000 tokens too (FR-010).
    token_budget_threshold: int = setting(
        4000,
        by_kind={Kind.RECORD: 2000},
        unit="tokens",
        range=(100, 25_000),
        group=SettingGroup.BUDGET,
        help="An answer with more estimated tokens comes as a preview or a smaller page.",
        aliases=("threshold",),
    )
    hard_cap: int = setting(
        12_000,
        unit="tokens",
        range=(1000, 25_000),
        group=SettingGroup.BUDGET,
        help="The most tokens of any answer, as Claude counts them. No argument of a call can exceed it.",
    )
    chunk_size: int = setting(
        200,
        unit="lines",
        range=(1, 10_000),
        group=SettingGroup.TEXTS,
        help="Lines of a log in one chunk.",
    )
    chunk_tokens: int = setting(
        2000,
        unit="tokens",
        range=(100, 20_000),
        group=SettingGroup.TEXTS,
        help="Estimated tokens of prose in one chunk.",
    )
    ruler: RulerName = setting(
        RulerName.FORMULA,
        choices={"formula": "the formula: characters / 4 + 20 %", "claude": "as Claude counts"},
        group=SettingGroup.BUDGET,
        help="The token count that the threshold is compared with. The hard cap is always measured as Claude counts.",
    )
    pagination: bool = setting(
        True,
        group=SettingGroup.SWITCHES,
        help="Lists come in pages.",
        aliases=("paginationEnabled", "pagination_enabled"),
    )
    summarization: bool = setting(
        True,
        group=SettingGroup.SWITCHES,
        help="Large answers come as previews.",
        aliases=("summarizationEnabled", "summarization_enabled"),
    )
    chunking: bool = setting(
        True,
        group=SettingGroup.SWITCHES,
        help="Long texts come in chunks.",
        aliases=("chunkingEnabled", "chunking_enabled"),
    )
    tables: bool = setting(
        True,
        group=SettingGroup.SWITCHES,
        help="Lists come as tables where listFormat says so. Off: only where the call requests a table.",
    )
    caching: bool = setting(
        True,
        group=SettingGroup.SWITCHES,
        help="Equal calls share an answer, and upstream responses are reused for cacheSeconds. Off: each call is made.",
    )
    meta_on_small_lists: bool = setting(
        False,
        group=SettingGroup.SWITCHES,
        help="Paging metadata even on a list that fits whole.",
        aliases=("pagination.metaOnSmallLists",),
    )
    list_format: ListFormat = setting(
        ListFormat.ITEMS,
        choices={"items": "items", "table": "a table", "auto": "a table if that is smaller"},
        group=SettingGroup.PAGES,
        help="The form of lists, unless the call requests a format.",
    )
    timeout_seconds: int = setting(
        60,
        unit="seconds",
        range=(1, 600),
        group=SettingGroup.TIME,
        help="A call that takes longer is stopped, with its query or upstream request.",
    )
    cache_seconds: int = setting(
        60,
        unit="seconds",
        range=(0, 86_400),
        group=SettingGroup.TIME,
        help="How long an upstream API's response is reused without another request. 0: never.",
        aliases=("cacheTtl", "cache_ttl"),
    )
    withheld_fields: str = setting(
        "",
        if_empty="nothing",
        whole_connectors_only=True,
        item=PATH,
        example="guestPhone, guest.email",
        group=SettingGroup.PRIVACY,
        help="Fields that are masked besides secrets, and cannot be queried: names, dotted paths, labels of custom "
        "fields, separated by commas. This list takes the place of those of wider scopes. none: nothing.",
    )
    sections: str = setting(
        "",
        if_empty="declared by the type",
        one_operation_only=True,
        pattern=SECTIONS,
        example="money=price,tax*; guest=guest*",
        group=SettingGroup.PREVIEWS,
        help="The named parts of a record, by the upstream's names of its fields; * stands for any letters. All other "
        "fields are in the section “other”.",
    )
    summary_fields: str = setting(
        "",
        if_empty="declared by the type",
        one_operation_only=True,
        group=SettingGroup.PREVIEWS,
        help="The fields of previews and condensed rows, besides those that identify a record: names, dotted paths, "
        "items.*.name, separated by commas.",
    )

    @property
    def upstream_cache_seconds(self) -> int:
        return self.cache_seconds if self.caching else 0

    @property
    def withheld(self) -> frozenset[str]:
        return _withheld_in(self.withheld_fields)

    @property
    def default_list_format(self) -> ListFormat:
        """The form of the rows of a list whose caller requested none."""
        return self.list_format if self.tables else ListFormat.ITEMS


@lru_cache(maxsize=1024)
def _withheld_in(names: str) -> frozenset[str]:
    found = frozenset(each.strip() for each in names.split(",") if each.strip())
    return frozenset() if found == {NOTHING} else found


DEFAULTS = Policy()
SETTINGS: Mapping[str, Setting] = settings_of(Policy)

_CHOICES = [each for each in SETTINGS.values() if each.choices]
_KIND_DEFAULTS: Mapping[Kind, Mapping[str, Any]] = {
    kind: {each.name: each.by_kind[kind] for each in SETTINGS.values() if kind in each.by_kind} for kind in Kind
}


def resolve(kind: Kind, layers: Iterable[Mapping[str, Any]]) -> Policy:
    """The policy of an operation of `kind`. `layers` go from the weakest to the strongest; None means not set."""
    values = dict(_KIND_DEFAULTS[kind])
    for layer in layers:
        values.update((name, value) for name, value in layer.items() if value is not None)
    for each in _CHOICES:
        if each.is_valid(values.get(each.name)):
            values[each.name] = each.value_type(values[each.name])
    return replace(DEFAULTS, **values)


def problems(policy: Policy) -> list[Problem]:
    """The invalid settings of a resolved policy or, if there are none, its contradictions."""
    found = [problem for each in SETTINGS.values() if (problem := each.problem(getattr(policy, each.name)))]
    return found or _contradictions(policy)


def _contradictions(policy: Policy) -> list[Problem]:
    """Settings that are valid alone, but not together."""
    found = []
    if policy.hard_cap < policy.token_budget_threshold:
        found.append(
            Problem(
                "hard_cap",
                f"hardCap ({policy.hard_cap:,}) is below tokenBudgetThreshold "
                f"({policy.token_budget_threshold:,}): answers under the threshold would already break the cap. "
                "Raise hardCap or lower tokenBudgetThreshold.",
                other="token_budget_threshold",
            )
        )
    if policy.default_page_size > policy.max_page_size:
        found.append(
            Problem(
                "default_page_size",
                f"defaultPageSize ({policy.default_page_size:,}) is above maxPageSize ({policy.max_page_size:,}). "
                "Lower defaultPageSize or raise maxPageSize.",
                other="max_page_size",
            )
        )
    return found
