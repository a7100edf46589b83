"""The kinds of alert rules: each is declared once, with its wording, its unit and its defaults.

The form, the sentences, the shipped rules and the runbooks follow from these declarations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import TextChoices


class RuleKind(TextChoices):
    ERROR_RATE = "error_rate", "Too many errors"
    SLOW = "slow", "Slow"
    UPSTREAM_DOWN = "upstream_down", "Upstream down"
    OVERSIZED = "oversized_share", "Oversized answers"
    REFUSED_KEYS = "refused_keys", "Keys refused"
    DRIFT = "token_drift", "Token counts drift"
    LOST_RECORDS = "lost_records", "Records lost"
    PAGING = "paging_failures", "Paging fails"
    TOOL_LIST = "tool_list_flipped", "Tool list changed"
    ROLLOUT = "rollout_rolled_back", "Rollout rolled back"


class Per(TextChoices):
    """Whether a rule has one alert for all calls, or one for each tool or upstream."""

    ALL = "all", "for all together"
    TOOL = "tool", "per tool"
    UPSTREAM = "upstream", "per upstream"


class NoData(TextChoices):
    """What happens to an alert when there is no data to evaluate."""

    SAY = "no_data", "say No data"
    OK = "ok", "count as recovered"
    KEEP = "keep", "keep the state"
    FIRE = "fire", "count as over the limit"


class LimitUnit(StrEnum):
    SHARE = "share"  # 0 to 1; people read and write percent
    MILLISECONDS = "ms"
    COUNT = "count"
    FACT = "fact"  # true or not: there is no limit to set


class Severity(StrEnum):
    DOWN = "down"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class KindDeclaration:
    """Times are in seconds. `limit` and `recovery` are in `unit`. The alert fires only if the sample has at least
    `minimum` calls or audits. `window` 0 evaluates the current state.

    `condition` is a clause for sentences, with the placeholder {limit}. `counted` names what the sample consists of.
    """

    title: str  # of the shipped rule
    condition: str
    unit: LimitUnit
    limit: float
    recovery: float
    minimum: int
    window: int
    pending: int
    recovery_time: int
    per: tuple[Per, ...]  # the first is the default
    no_data: NoData = NoData.SAY
    counted: str = "calls"
    is_shipped_on: bool = False
    severity: Severity = Severity.DEGRADED
    has_origins: bool = False
    has_places: bool = True  # can be limited to tools, connectors and upstreams
    has_own_limits: bool = False  # tools can have a limit of their own

    @property
    def has_limit(self) -> bool:
        return self.unit is not LimitUnit.FACT


KINDS: Mapping[RuleKind, KindDeclaration] = {
    RuleKind.ERROR_RATE: KindDeclaration(
        title="Too many errors",
        condition="more than {limit} of calls fail",
        unit=LimitUnit.SHARE,
        limit=0.05,
        recovery=0.02,
        minimum=20,
        window=300,
        pending=60,
        recovery_time=180,
        per=(Per.TOOL, Per.UPSTREAM, Per.ALL),
        is_shipped_on=True,
        has_origins=True,
    ),
    RuleKind.SLOW: KindDeclaration(
        title="Slow answers",
        condition="the 95th percentile of the time of calls is above {limit}",
        unit=LimitUnit.MILLISECONDS,
        limit=2000,
        recovery=1500,
        minimum=20,
        window=300,
        pending=300,
        recovery_time=300,
        per=(Per.TOOL, Per.UPSTREAM, Per.ALL),
    ),
    RuleKind.UPSTREAM_DOWN: KindDeclaration(
        title="Upstream down",
        condition="an upstream does not answer, or more than {limit} of its calls fail because of it",
        unit=LimitUnit.SHARE,
        limit=0.5,
        recovery=0.2,
        minimum=3,
        window=60,
        pending=0,
        recovery_time=60,
        per=(Per.UPSTREAM,),
        is_shipped_on=True,
        severity=Severity.DOWN,
    ),
    RuleKind.OVERSIZED: KindDeclaration(
        title="Too many oversized answers",
        condition="more than {limit} of answers are over their budget",
        unit=LimitUnit.SHARE,
        limit=0.05,
        recovery=0.04,
        minimum=20,
        window=900,
        pending=0,
        recovery_time=60,
        per=(Per.ALL, Per.TOOL, Per.UPSTREAM),
        no_data=NoData.OK,  # without answers, nothing is too large
        is_shipped_on=True,
        has_own_limits=True,
    ),
    RuleKind.REFUSED_KEYS: KindDeclaration(
        title="Many refused keys",
        condition="more than {limit} calls come with a key that is refused",
        unit=LimitUnit.COUNT,
        limit=100,
        recovery=20,
        minimum=0,
        window=300,
        pending=0,
        recovery_time=300,
        per=(Per.ALL,),
        no_data=NoData.OK,
        has_places=False,
    ),
    RuleKind.DRIFT: KindDeclaration(
        title="Token counts drift",
        condition="Sluice's own token count is more than {limit} off in a class of texts",
        unit=LimitUnit.SHARE,
        limit=0.05,
        recovery=0.04,
        minimum=20,
        window=0,
        pending=0,
        recovery_time=0,
        per=(Per.ALL,),
        no_data=NoData.OK,
        counted="audits of a class",
        is_shipped_on=True,
        has_places=False,
    ),
    RuleKind.LOST_RECORDS: KindDeclaration(
        title="Records lost",
        condition="more than {limit} calls are answered but not recorded",
        unit=LimitUnit.COUNT,
        limit=0,
        recovery=0,
        minimum=0,
        window=300,
        pending=0,
        recovery_time=0,
        per=(Per.ALL,),
        is_shipped_on=True,
        has_places=False,
    ),
    RuleKind.PAGING: KindDeclaration(
        title="Paging fails",
        condition="more than {limit} calls come with a cursor that is expired or invalid",
        unit=LimitUnit.COUNT,
        limit=10,
        recovery=3,
        minimum=0,
        window=900,
        pending=0,
        recovery_time=300,
        per=(Per.ALL, Per.TOOL),
        no_data=NoData.OK,
    ),
    RuleKind.TOOL_LIST: KindDeclaration(
        title="Tool list changed",
        condition="the tool list is over its budget, so that clients get search tools instead of it",
        unit=LimitUnit.FACT,
        limit=0,
        recovery=0,
        minimum=0,
        window=0,
        pending=0,
        recovery_time=0,
        per=(Per.ALL,),
        has_places=False,
    ),
    RuleKind.ROLLOUT: KindDeclaration(
        title="Rollout rolled back",
        condition="a rollout was rolled back by its guardrails",
        unit=LimitUnit.FACT,
        limit=0,
        recovery=0,
        minimum=0,
        window=3600,
        pending=0,
        recovery_time=0,
        per=(Per.ALL,),
        no_data=NoData.OK,
        is_shipped_on=True,
        has_places=False,
    ),
}


def kind_of(code: str) -> KindDeclaration:
    return KINDS[RuleKind(code)]
