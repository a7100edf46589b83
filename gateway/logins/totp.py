"""Codes of authenticator apps (RFC 6238): six digits that change every 30 seconds."""

import base64
import secrets

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP

SECRET_BYTES = 20
DIGITS = 6
STEP_SECONDS = 30
CLOCKS_DIFFER = 1  # steps by which a phone's clock may be fast or slow
ISSUER = "Sluice"


def new_secret() -> str:
    """A secret in base32, which can be typed into an app that cannot scan."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def address(secret: str, account: str) -> str:
    """The otpauth:// URI that apps read from a QR code."""
    return _totp(secret).get_provisioning_uri(account, ISSUER)


def step_of(secret: str, code: str, now: float) -> int | None:
    """The time step (30-second steps since 1970) of the code; None if the code matches no step around `now`."""
    if len(code) != DIGITS or not (code.isascii() and code.isdigit()):
        return None
    totp, current = _totp(secret), int(now) // STEP_SECONDS
    for step in range(current - CLOCKS_DIFFER, current + CLOCKS_DIFFER + 1):
        try:
            totp.verify(code.encode(), step * STEP_SECONDS)
        except InvalidToken:
            continue
        return step
    return None


def _totp(secret: str) -> TOTP:
    # All apps support SHA-1. It is used as a keyed hash, so its collisions do not matter.
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303
