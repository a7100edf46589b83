"""The form of a rule. It shows percent and stores shares. The rule's kind decides which fields it has."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.db.models import Q

from telemetry.alert_kinds import KindDeclaration, LimitUnit, RuleKind, kind_of
from telemetry.alerts import words
from telemetry.alerts.conditions import RuleCondition, condition_of, patterns
from telemetry.alerts.shipped_rules import condition_fields
from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES
from telemetry.models.alerts import AlertRule, Channel

SPANS = (30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400)
WINDOWS = SPANS[1:]
PATTERN = re.compile(r"!?[\w.*:@/ -]{1,100}")
ORIGINS = (("sluice", "Sluice"), ("upstream", "upstream"), ("caller", "caller"), ("policy", "policy"))
UNIT_WORDS: Mapping[LimitUnit, str] = {
    LimitUnit.SHARE: "%",
    LimitUnit.MILLISECONDS: "ms",
    LimitUnit.COUNT: "",
    LimitUnit.FACT: "",
}


class SpanField(forms.TypedChoiceField):
    """A span of time in seconds."""

    def __init__(self, seconds: tuple[int, ...], *, zero: str = "", **options: Any) -> None:
        self.seconds, self.zero = seconds, zero
        super().__init__(choices=self._offered(()), coerce=int, **options)

    def _offered(self, more: tuple[int, ...]) -> list[tuple[int, str]]:
        offered = sorted({*self.seconds, *more})
        zero = [(0, self.zero)] if self.zero else []
        return [*zero, *((each, words.span(timedelta(seconds=each))) for each in offered if each)]

    def offer(self, seconds: int) -> None:
        """Adds the stored value to the choices if it is not one of the usual ones."""
        self.choices = self._offered((seconds,))


class ChannelsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # not subscriptable at run time
    """The channels of a rule."""

    def label_from_instance(self, obj: Channel) -> str:
        return str(obj) if obj.is_enabled else f"{obj} (switched off)"

    def offer(self, rule: AlertRule) -> None:
        """Offers the channels that are switched on, and those that the rule has already, so that saving the rule
        keeps them."""
        of_rule = Q(rules=rule) if rule.pk else Q()
        self.queryset = Channel.objects.filter(Q(is_enabled=True) | of_rule).distinct()


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    limit = forms.FloatField(min_value=0, label="above")
    recovery_limit = forms.FloatField(min_value=0, label="at or below")
    own_limits = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "list_bookings: 50"}),
        help_text="One per line, in percent. Each is checked alone, and the rule leaves it out.",
    )
    origins = forms.MultipleChoiceField(choices=ORIGINS, widget=forms.CheckboxSelectMultiple, required=False)
    window_seconds = SpanField(WINDOWS, label="in")
    pending_seconds = SpanField(SPANS, zero="at once", label="for")
    recovery_seconds = SpanField(SPANS, zero="at once", label="for")
    channels = ChannelsField(Channel.objects.none(), widget=forms.CheckboxSelectMultiple, required=False)

    class Meta:
        model = AlertRule
        fields = (
            "name",
            "is_enabled",
            "tools",
            "connectors",
            "upstreams",
            "per",
            "limit",
            "recovery_limit",
            "minimum",
            "window_seconds",
            "pending_seconds",
            "recovery_seconds",
            "no_data",
            "runbook",
            "channels",
        )
        help_texts = {
            "tools": "Empty: all. list_*, !list_documents",
            "connectors": "Empty: all.",
            "upstreams": "Empty: all.",
            "no_data": "No data is not the same as OK.",
            "runbook": "Empty: the section of this kind.",
        }

    def __init__(self, data: Any = None, *, kind: RuleKind, instance: AlertRule | None = None) -> None:
        self.kind, self.declared = kind, kind_of(kind)
        instance = instance or AlertRule(kind=kind.value, **condition_fields(self.declared))
        super().__init__(data, instance=instance, initial=self._initial(instance))
        self.fields["per"].choices = [(each.value, each.label) for each in self.declared.per]  # type: ignore[attr-defined]
        for name in ("window_seconds", "pending_seconds", "recovery_seconds"):
            self.fields[name].offer(self.initial[name])  # type: ignore[attr-defined]
        self.fields["channels"].offer(instance)  # type: ignore[attr-defined]
        for name in self._unused():
            del self.fields[name]

    def _initial(self, rule: AlertRule) -> dict[str, Any]:
        condition = condition_of(rule)
        return {
            "limit": _shown(condition.limit, self.declared),
            "recovery_limit": _shown(condition.recovery, self.declared),
            "minimum": condition.minimum,
            "window_seconds": round(condition.window.total_seconds()),
            "pending_seconds": rule.pending_seconds,
            "recovery_seconds": rule.recovery_seconds,
            "origins": patterns(rule.origins),
            "own_limits": "\n".join(
                f"{tool}: {_shown(limit, self.declared):g}" for tool, limit in condition.own_limits.items()
            ),
        }

    def _unused(self) -> set[str]:
        """The fields that this kind does not have."""
        declared = self.declared
        unused: set[str] = set()
        if not declared.has_limit:
            unused |= {"limit", "recovery_limit"}
        if not declared.minimum:
            unused.add("minimum")
        if not declared.window:
            unused.add("window_seconds")
        if not declared.has_places:
            unused |= {"tools", "connectors", "upstreams"}
        if self.kind is RuleKind.UPSTREAM_DOWN:
            unused |= {"tools", "connectors"}
        if not declared.has_origins:
            unused.add("origins")
        if not declared.has_own_limits:
            unused.add("own_limits")
        if len(declared.per) == 1:
            unused.add("per")
        return unused

    # -- Words --------------------------------------------------------------------------------------

    @property
    def unit(self) -> str:
        return UNIT_WORDS[self.declared.unit]

    # -- Validation ---------------------------------------------------------------------------------

    def clean_origins(self) -> str:
        chosen = self.cleaned_data["origins"]
        if not chosen:
            raise forms.ValidationError("Tick at least one origin, or no error counts.")
        return ",".join(chosen)

    def clean_tools(self) -> str:
        return self._patterns("tools")

    def clean_connectors(self) -> str:
        return self._patterns("connectors")

    def clean_upstreams(self) -> str:
        return self._patterns("upstreams")

    def _patterns(self, field: str) -> str:
        found = patterns(self.cleaned_data[field])
        for each in found:
            if not PATTERN.fullmatch(each):
                raise forms.ValidationError(
                    f"“{each}” is not a name or pattern. Expected for example list_*, !list_documents."
                )
        return ", ".join(found)

    def clean_minimum(self) -> int:
        minimum: int = self.cleaned_data["minimum"]
        if self.kind is RuleKind.SLOW and minimum < MIN_CALLS_FOR_PERCENTILES:
            raise forms.ValidationError(f"Percentiles need {MIN_CALLS_FOR_PERCENTILES} calls or more.")
        return minimum

    def clean_limit(self) -> float:
        return self._stored("limit")

    def clean_recovery_limit(self) -> float:
        return self._stored("recovery_limit")

    def _stored(self, field: str) -> float:
        given: float = self.cleaned_data[field]
        if self.declared.unit is not LimitUnit.SHARE:
            return given
        if given > 100:
            raise forms.ValidationError(f"{given:g}% is more than all. Expected: 0 to 100.")
        return given / 100

    def clean_own_limits(self) -> dict[str, float]:
        limits = {}
        for line in self.cleaned_data["own_limits"].splitlines():
            if not line.strip():
                continue
            tool, _, percent = line.rpartition(":")
            limits[tool.strip()] = _percent(tool.strip(), percent.strip().removesuffix("%"), line)
        return limits

    def clean_runbook(self) -> str:
        link: str = self.cleaned_data["runbook"].strip()
        if link and not link.startswith(("https://", "http://", "/")):
            raise forms.ValidationError("Enter an address that begins with https://, http:// or /.")
        return link

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        limit, recovery = given.get("limit"), given.get("recovery_limit")
        if limit is not None and recovery is not None and recovery > limit:
            self.add_error(
                "recovery_limit",
                f"Recovery is at {_shown(recovery, self.declared):g}{self.unit}, above the limit of "
                f"{_shown(limit, self.declared):g}{self.unit}. Enter the limit or less.",
            )
        return given

    # -- The described rule -------------------------------------------------------------------------

    def rule(self) -> AlertRule:
        """The rule as the form describes it, not saved. The form must be valid."""
        rule: AlertRule = self.instance
        rule.follows_settings = False
        for field, name in (("origins", "origins"), ("own_limits", "limits_by_tool")):
            if field in self.cleaned_data:
                setattr(rule, name, self.cleaned_data[field])
        return rule

    def condition(self) -> RuleCondition:
        return condition_of(self.rule())

    def ticked(self) -> list[Channel]:
        """The ticked channels that are switched on."""
        return [channel for channel in self.cleaned_data["channels"] if channel.is_enabled]

    def sentence(self) -> str:
        return words.rule_sentence(self.condition(), [str(each) for each in self.ticked() if each.can_send])


def _shown(value: float, declared: KindDeclaration) -> float:
    """The value as people write it: percent instead of a share."""
    return round(100 * value, 6) if declared.unit is LimitUnit.SHARE else value


def _percent(tool: str, text: str, line: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = -1
    if not PATTERN.fullmatch(tool) or not 0 <= percent <= 100:
        raise forms.ValidationError(
            f"“{line.strip()}” is not a tool and its limit. Expected: list_bookings: 50, in percent."
        )
    return percent / 100


def kinds() -> list[tuple[RuleKind, KindDeclaration]]:
    return [(kind, kind_of(kind)) for kind in RuleKind]
