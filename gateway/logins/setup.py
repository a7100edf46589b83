"""Setup of a second factor: the page carries the new secret, encrypted, until a code confirms it and it is stored."""

import segno
from django.core import signing
from django.utils.safestring import SafeString, mark_safe

from gateway.logins import totp
from gateway.upstreams.auth.vault import vault

SALT = "gateway.logins.setup"
VALID_SECONDS = 3600
GROUP = 4


def offer(user: int) -> str:
    """A new secret for this user, encrypted."""
    return signing.dumps([user, vault().seal(totp.new_secret())], salt=SALT)


def opened(offered: str, user: int) -> str | None:
    """The secret; None if `offered` is invalid, was offered to another user, or is more than an hour old."""
    try:
        whose, sealed = signing.loads(offered, salt=SALT, max_age=VALID_SECONDS)
    except signing.BadSignature:
        return None
    return vault().open(sealed, upstream="the second factor") if whose == user else None


def qr_code(secret: str, account: str) -> SafeString:
    """An SVG element."""
    code = segno.make(totp.address(secret, account), error="m")
    svg: str = code.svg_inline(border=4, dark="#000", light="#fff", omitsize=True, title="QR code for the app")
    return mark_safe(svg)  # noqa: S308 (segno's SVG contains the URI only as squares)


def in_groups(secret: str) -> str:
    return " ".join(secret[start : start + GROUP] for start in range(0, len(secret), GROUP))
