"""Login data: failures by name and address, second factors, and the audit trail."""

from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone


class LoginFailures(models.Model):
    """Failed logins with one name from one address. Only a digest of the name is stored, because people often type
    their password into the name field."""

    name_digest = models.CharField(max_length=64, editable=False)
    address = models.CharField(max_length=64, editable=False, help_text="For IPv6, the /64 network.")
    times: "models.JSONField[list[float]]" = models.JSONField(default=list, editable=False)  # seconds since 1970
    last_at = models.DateTimeField(default=timezone.now, db_index=True, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name_digest", "address"], name="one_row_per_name_and_address")]

    def __str__(self) -> str:
        return f"{len(self.times)} from {self.address}"


class SecondFactor(models.Model):
    """The second factor of a user who switched it on. The app's secret is encrypted like upstream credentials."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor", editable=False
    )
    sealed_secret = models.TextField(editable=False)
    last_step = models.BigIntegerField(default=0, editable=False)  # step of the last code used: no code works twice
    created_at = models.DateTimeField("on since", auto_now_add=True)

    class Meta:
        ordering = ("user__username",)

    def __str__(self) -> str:
        return f"Second factor of {self.user.get_username()}"

    @property
    def name(self) -> str:
        """The name in the error that is raised if no key can decrypt the secret."""
        return f"the second factor of {self.user.get_username()}"


class RecoveryCode(models.Model):
    """An unused recovery code. It has 80 random bits, so a plain hash suffices."""

    factor = models.ForeignKey(SecondFactor, on_delete=models.CASCADE, related_name="recovery_codes", editable=False)
    digest = models.CharField(max_length=64, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["factor", "digest"], name="one_row_per_recovery_code")]

    def __str__(self) -> str:
        return "Recovery code"


class SecurityEvent(models.Model):
    """One entry of the audit trail. It contains no passwords or codes, and only the names of known users."""

    class SecurityEventKind(models.TextChoices):
        LOGIN = "login", "Logged in"
        LOGIN_FAILED = "login_failed", "Login failed"
        LOCKED_OUT = "locked_out", "Locked out"
        UNLOCKED = "unlocked", "Unlocked"
        LOGOUT = "logout", "Logged out"
        PASSWORD_CHANGED = "password_changed", "Changed the password"
        SECOND_FACTOR_FAILED = "second_factor_failed", "Second factor failed"
        SECOND_FACTOR_ON = "second_factor_on", "Switched the second factor on"
        SECOND_FACTOR_OFF = "second_factor_off", "Switched the second factor off"
        SECOND_FACTOR_RESET = "second_factor_reset", "Second factor was reset"
        RECOVERY_CODE_USED = "recovery_code_used", "Used a recovery code"
        RECOVERY_CODES_RENEWED = "recovery_codes_renewed", "Made new recovery codes"

    at = models.DateTimeField("time", default=timezone.now, db_index=True)
    kind = models.CharField(max_length=30, choices=SecurityEventKind)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    name = models.CharField("user name", max_length=150, blank=True, help_text="Empty: no user has this name.")
    address = models.CharField(max_length=64, blank=True, help_text="Empty: done by a command.")
    by = models.CharField(max_length=150, blank=True, help_text="The other user who did it, if any.")

    class Meta:
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.name or '(unknown name)'}"


def known_user(name: str) -> Any:
    """The user with this name, or None."""
    from django.contrib.auth import get_user_model

    return get_user_model()._default_manager.filter(username=name).first()
