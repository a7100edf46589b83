"""Upstream APIs that ops manage, and the base of all models with a credential."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import BaseValidator, MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone
from simple_history.models import HistoricalRecords

from gateway.upstreams.auth.vault import vault
from gateway.upstreams.connections import (
    FIELDS_OF_KIND,
    KIND_FIELDS,
    AuthKind,
    ClientPlace,
    Connection,
    Problem,
    problems,
)

KIND_LABELS = {
    AuthKind.NONE: "None",
    AuthKind.HEADER: "API key in a header",
    AuthKind.QUERY: "API key in the query",
    AuthKind.BEARER: "Bearer token",
    AuthKind.BASIC: "User name and password",
    AuthKind.CLIENT_CREDENTIALS: "OAuth 2.0 client credentials",
}
NAME = RegexValidator(
    r"^[a-z][a-z0-9_-]*\Z",
    "Expected small letters, digits, _ and -, beginning with a letter: acme_billing.",
)


def _within(low: float, high: float, unit: str) -> list[BaseValidator]:
    message = f"Expected {low:,} to {high:,} {unit}."
    return [MinValueValidator(low, message), MaxValueValidator(high, message)]


class WithCredential(models.Model):
    """Base of models of servers that Sluice calls with a credential. The secret is sealed (encrypted) before it is
    stored in the row. A subclass must exclude `sealed_secret` from its history."""

    name: Any
    enabled: Any
    unique_by = ("name",)

    authentication = models.CharField(
        max_length=20,
        choices=[(kind.value, words) for kind, words in KIND_LABELS.items()],
        default=AuthKind.NONE.value,
        help_text="How it knows who calls. “None” also removes the stored secret.",
    )
    parameter_name = models.CharField(
        "name of the header or parameter",
        max_length=100,
        blank=True,
        help_text="Of an API key: the header or query parameter that carries it, for example X-API-Key or api_key.",
    )
    user_name = models.CharField(
        max_length=200,
        blank=True,
        help_text="With a password. If the API takes its key as user name, leave this empty and enter the key with a "
        "colon behind it as the secret.",
    )
    client_id = models.CharField(
        "client id",
        max_length=300,
        blank=True,
        help_text="For OAuth 2.0: the client id that the upstream has given you.",
    )
    token_url = models.CharField(
        "token address",
        max_length=500,
        blank=True,
        help_text="For OAuth 2.0: tokens are fetched from here, stored until shortly before they expire, and fetched "
        "again when the upstream rejects one.",
    )
    scope = models.CharField(
        max_length=1000, blank=True, help_text="For OAuth 2.0: the requested scopes, separated by spaces. Often empty."
    )
    audience = models.CharField(
        max_length=500,
        blank=True,
        help_text="For OAuth 2.0: the API that the token is for, if the server requires it. Often empty.",
    )
    client_place = models.CharField(
        "client id and secret are sent",
        max_length=10,
        choices=[
            (ClientPlace.HEADER.value, "In a header, as user name and password"),
            (ClientPlace.BODY.value, "In the body"),
        ],
        default=ClientPlace.HEADER.value,
        help_text="For OAuth 2.0, to the token address. Try the other way if it answers “invalid_client”.",
    )
    sealed_secret = models.TextField(blank=True, default="", editable=False)
    secret_changed_at = models.DateTimeField(null=True, blank=True)  # editable, so that the history shows it

    class Meta:
        abstract = True

    @property
    def not_in_history(self) -> str:
        has_secret = self.authentication != AuthKind.NONE and self.secret_changed_at is not None
        return "secret" if has_secret else ""

    def connection(self) -> Connection:
        raise NotImplementedError

    def credential(self) -> dict[str, Any]:
        """The fields of a `Connection` that describe the credential."""
        own: dict[str, Any] = {name: getattr(self, name) for name in _CREDENTIAL_FIELDS}
        return {"kind": AuthKind(self.authentication), "client_place": ClientPlace(self.client_place), **own}

    def set_secret(self, secret: str) -> None:
        """Seals the secret. It is saved with the row."""
        self.sealed_secret, self.secret_changed_at = vault().seal(secret), timezone.now()

    def remove_secret(self) -> None:
        if self.sealed_secret:
            self.sealed_secret, self.secret_changed_at = "", timezone.now()

    def empty_what_does_not_apply(self) -> None:
        kind = AuthKind(self.authentication)
        empty = type(self)()
        for name in KIND_FIELDS.difference(FIELDS_OF_KIND[kind]):
            setattr(self, name, getattr(empty, name))
        if kind is AuthKind.NONE:
            self.remove_secret()

    def secret_problems(self, connection: Connection) -> list[Problem]:
        """Reports a missing secret, and one that would go to another server than it was entered for."""
        if not self.sealed_secret:
            missing = self.enabled and connection.needs_secret
            return [("secret", "Enter the secret, or untick “Enabled”.")] if missing else []
        before = type(self)._default_manager.filter(pk=self.pk, sealed_secret=self.sealed_secret).first()
        if before is None or before.connection().secret_goes_to == connection.secret_goes_to:
            return []
        return [("secret", "Enter the secret again: it would be sent to another server than it was entered for.")]


_CREDENTIAL_FIELDS = ("sealed_secret", "parameter_name", "user_name", "client_id", "token_url", "scope", "audience")


class UpstreamApiManager(models.Manager["UpstreamApi"]):
    def connections(self) -> tuple[Connection, ...]:
        """The connections of the enabled APIs, sorted by name. Their secrets stay sealed."""
        return tuple(api.connection() for api in self.filter(enabled=True))


LIMIT_FIELDS = (
    "connect_seconds",
    "read_seconds",
    "total_seconds",
    "most_megabytes",
    "attempts",
    "rate_calls",
    "rate_seconds",
    "keep_seconds",
)


class UpstreamApi(WithCredential):
    """An API that Sluice calls."""

    name = models.CharField(
        max_length=32,
        unique=True,
        validators=[NAME],
        help_text="A short name. The names of its tools begin with it, so a new name renames them.",
    )
    base_url = models.CharField(
        "base address",
        max_length=500,
        help_text="The common beginning of all its addresses, for example https://api.example.com/v1.",
    )
    enabled = models.BooleanField(default=True, help_text="Off: its tools do not exist, and nothing is sent to it.")

    connect_seconds = models.FloatField(
        "connecting (seconds)",
        default=5.0,
        validators=_within(0.1, 60, "seconds"),
        help_text="An attempt fails after this time without a connection.",
    )
    read_seconds = models.FloatField(
        "longest silence (seconds)",
        default=30.0,
        validators=_within(0.1, 300, "seconds"),
        help_text="An attempt fails after this time without a byte of the answer.",
    )
    total_seconds = models.FloatField(
        "whole call (seconds)",
        default=55.0,
        validators=_within(0.1, 600, "seconds"),
        help_text="The limit for all attempts and the pauses between them.",
    )
    most_megabytes = models.PositiveIntegerField(
        "largest answer (MB)",
        default=16,
        validators=_within(1, 256, "megabytes"),
        help_text="The decompressed size. A larger answer is not read further, and is an error.",
    )
    attempts = models.PositiveIntegerField(
        default=3,
        validators=_within(1, 5, "attempts"),
        help_text="How often a call is tried if it fails temporarily. A call that changes something is sent once.",
    )
    rate_calls = models.PositiveIntegerField(
        "calls",
        null=True,
        blank=True,
        validators=_within(1, 1_000_000, "calls"),
        help_text="The most calls within the seconds below. Empty: no limit.",
    )
    rate_seconds = models.PositiveIntegerField(
        "within seconds", null=True, blank=True, validators=_within(1, 86_400, "seconds")
    )
    keep_seconds = models.PositiveIntegerField(
        "keep for (seconds)",
        null=True,
        blank=True,
        validators=_within(0, 86_400, "seconds"),
        help_text="How long an answer is reused without another request. 0: never. Empty: as long as the tool's budget "
        "says.",
    )

    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = UpstreamApiManager()
    history = HistoricalRecords(excluded_fields=["sealed_secret"])

    class Meta:
        ordering = ("name",)
        verbose_name = "upstream API"
        permissions = (("change_credentials", "Can change credentials of upstreams"),)  # covers MCP servers too

    def __str__(self) -> str:
        return self.name

    def connection(self) -> Connection:
        own: dict[str, Any] = {name: getattr(self, name) for name in ("name", "base_url", *LIMIT_FIELDS)}
        return Connection(**self.credential(), **own)

    def clean(self) -> None:
        """Rejects settings that cannot work, and a secret that would go to another server."""
        try:
            self.clean_fields()
        except ValidationError:
            return  # already reported at their fields; the checks below need valid values
        self.base_url = (self.base_url or "").rstrip("/")
        self.empty_what_does_not_apply()
        connection = self.connection()
        found: dict[str, list[str]] = {}
        for field, sentence in (*problems(connection), *self.secret_problems(connection)):
            found.setdefault(field, []).append(sentence)
        if found:
            raise ValidationError(found)
