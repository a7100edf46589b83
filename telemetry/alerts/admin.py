"""The admin's pages of alerts, which are read-only, and of channels, which can be edited."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from telemetry import wording
from telemetry.access import SEE_CALLS
from telemetry.alerts import channels, links, words
from telemetry.models.alerts import Alert, Channel
from telemetry.read_only_admin import TelemetryAdmin, badge


@admin.register(Alert)
class AlertAdmin(TelemetryAdmin):
    list_display = ("shown_state", "message", "what", "since", "ended_at", "last_value", "highest")
    list_display_links = ("shown_state", "what", "message")
    list_filter = ("state", ("rule__kind", admin.AllValuesFieldListFilter))
    list_select_related = ("rule",)
    fieldsets = (
        (None, {"fields": ("shown_state", "rule", "subject", "message", "page")}),
        ("When", {"fields": ("started_at", "fired_at", "since", "ended_at", "checked_at")}),
        ("How much", {"fields": ("last_value", "highest", "allowed", "sample", "affected")}),
        ("Who", {"fields": ("acknowledged_by", "acknowledged_at", "note", "silenced_by", "silenced_until")}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leaves out the link to a page that this person may not see."""
        may_see = request.user.has_perm(SEE_CALLS)
        return [
            (title, {"fields": [name for name in options["fields"] if name != "page" or may_see]})
            for title, options in self.fieldsets
        ]

    @admin.display(description="state", ordering="state")
    def shown_state(self, alert: Alert) -> SafeString:
        return badge(alert.state, alert.get_state_display())

    @admin.display(description="alert")
    def what(self, alert: Alert) -> str:
        return alert.title

    @admin.display(description="page")
    def page(self, alert: Alert) -> str:
        url = links.alert(alert)
        return format_html('<a href="{}">Open the alert’s page</a>', url) if url else wording.NOTHING

    @admin.display(description="value", ordering="value")
    def last_value(self, alert: Alert) -> str:
        return words.amount(alert.value, alert.rule.declared.unit)

    @admin.display(description="highest value", ordering="peak")
    def highest(self, alert: Alert) -> str:
        return words.amount(alert.peak, alert.rule.declared.unit)

    @admin.display(description="limit", ordering="limit")
    def allowed(self, alert: Alert) -> str:
        return words.amount(alert.limit, alert.rule.declared.unit)


class ChannelForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    secret = forms.CharField(
        required=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Webhook: the key that signs each message; the receiver needs it too. Slack: the address of the "
        "incoming webhook. It is stored encrypted and never shown again. An empty field does not change it.",
    )

    class Meta:
        model = Channel
        fields = ("name", "kind", "address", "is_enabled")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        kind, secret = given.get("kind"), given.get("secret", "")
        has_secret = bool(secret or (self.instance.sealed_secret and self.instance.kind == kind))
        match kind:
            case Channel.ChannelKind.EMAIL if not self.instance.follows_settings:
                self._check_emails(given.get("address", ""))
            case Channel.ChannelKind.WEBHOOK:
                self._check_url("address", given.get("address", ""))
                if not has_secret:
                    self.add_error("secret", "Enter the key that signs each message, for example 32 random characters.")
            case Channel.ChannelKind.SLACK:
                if secret:
                    self._check_url("secret", secret)
                elif not has_secret:
                    self.add_error("secret", "Enter the address of Slack's incoming webhook.")
        return given

    def _check_emails(self, addresses: str) -> None:
        found = [each.strip() for each in addresses.split(",") if each.strip()]
        if not found:
            self.add_error("address", "Enter an email address, for example ops@example.com.")
        for each in found:
            try:
                validate_email(each)
            except ValidationError:
                self.add_error("address", f"{each} is not an email address.")

    def _check_url(self, field: str, url: str) -> None:
        if problem := channels.address_problem(url):
            self.add_error(field, problem)

    def save(self, commit: bool = True) -> Channel:
        if secret := self.cleaned_data["secret"]:
            self.instance.sealed_secret = channels.sealed(secret)
        channel: Channel = super().save(commit)
        return channel


@admin.register(Channel)
class ChannelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    form = ChannelForm
    fields = ("name", "kind", "address", "secret", "is_enabled")
    list_display = ("name", "kind", "where", "is_enabled")

    def get_readonly_fields(self, request: HttpRequest, obj: Channel | None = None) -> tuple[str, ...]:
        return ("kind", "where") if obj is not None and obj.follows_settings else ()

    def get_fields(self, request: HttpRequest, obj: Channel | None = None) -> tuple[str, ...]:
        return ("name", "kind", "where", "is_enabled") if obj is not None and obj.follows_settings else self.fields

    @admin.display(description="sends to")
    def where(self, channel: Channel) -> str:
        if channel.follows_settings:
            return ", ".join(channel.recipients) or "nobody yet: set ALERT_EMAILS"
        return channel.address or "a secret address"
