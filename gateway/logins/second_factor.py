"""The second factor of a login: a code from an authenticator app, or one of ten recovery codes.

It is required of users who have a `SecondFactor`. Each code is valid once: of two requests with the same code, only one
succeeds.
"""

import base64
import hashlib
import secrets
import time
from enum import Enum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from gateway.logins import totp
from gateway.logins.models import RecoveryCode, SecondFactor
from gateway.upstreams.auth.vault import vault

PROVED = "second_factor"  # session key: the primary key of the proved second factor
RECOVERY_CODES = 10
RECOVERY_BYTES = 10
GROUP = 4  # characters between the hyphens of a recovery code


class Proof(Enum):
    APP = "app"
    RECOVERY_CODE = "recovery code"


def of(user: Any) -> SecondFactor | None:
    return SecondFactor.objects.filter(user_id=user.pk).first()


def is_satisfied(request: HttpRequest) -> bool:
    """Whether a logged-in user's session has the required second factor. Queries the database once per request."""
    known: bool | None = getattr(request, "_second_factor_is_satisfied", None)
    if known is None:
        user: Any = request.user
        factor = SecondFactor.objects.filter(user_id=user.pk).values_list("pk", flat=True).first()
        known = not settings.REQUIRE_SECOND_FACTOR if factor is None else request.session.get(PROVED) == factor
        request._second_factor_is_satisfied = known  # type: ignore[attr-defined]
    return known


def remember(request: HttpRequest, factor: SecondFactor) -> None:
    """Marks the second factor as proved in this session only."""
    request.session[PROVED] = factor.pk
    request._second_factor_is_satisfied = True  # type: ignore[attr-defined]


@transaction.atomic
def switch_on(user: Any, secret: str, code: str) -> tuple[SecondFactor, list[str]] | None:
    """The new factor and its recovery codes; None if the code does not match the secret."""
    step = totp.step_of(secret, code, time.time())
    if step is None:
        return None
    factor = SecondFactor.objects.create(user=user, sealed_secret=vault().seal(secret), last_step=step)
    return factor, renew_codes(factor)


@transaction.atomic
def renew_codes(factor: SecondFactor) -> list[str]:
    """Returns new recovery codes, and invalidates the old ones."""
    codes = [_new_code() for _ in range(RECOVERY_CODES)]
    factor.recovery_codes.all().delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(factor=factor, digest=_digest(code)) for code in codes)
    return codes


def prove(factor: SecondFactor, typed: str) -> Proof | None:
    """Whether the code is from the app or a recovery code; None if it is invalid or was used before. Consumes a valid
    code. Raises CredentialLost if no key can decrypt the app's secret."""
    code = "".join(typed.split()).replace("-", "").upper()
    if len(code) == totp.DIGITS:
        step = totp.step_of(vault().open(factor.sealed_secret, upstream=factor.name), code, time.time())
        if step is None:
            return None
        is_new = SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step)
        return Proof.APP if is_new else None
    used, _ = factor.recovery_codes.filter(digest=_digest(code)).delete()
    return Proof.RECOVERY_CODE if used else None


def _new_code() -> str:
    code = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode()
    return "-".join(code[start : start + GROUP] for start in range(0, len(code), GROUP))


def _digest(code: str) -> str:
    return hashlib.sha256(code.replace("-", "").encode("utf-8", "replace")).hexdigest()
