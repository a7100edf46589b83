"""Credentials of upstreams at rest: encrypted and authenticated, opened only where they are sent (N-FR-011).

Who has the database has no credential; who has the keys as well has all of them. Keys rotate: the newest seals, former
ones still open, and `manage.py rotate_credentials` seals everything anew, so that a former key can go.
"""

from collections.abc import Sequence
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from context_protection.core.cursors import derived_key
from gateway.upstreams.errors import UpstreamError

PURPOSE = b"sluice credential"
LAST_SHOWN = 4  # characters by which ops recognise a secret
LONG_ENOUGH = 12  # characters; of a shorter secret the last four would give away too much


class CredentialLost(UpstreamError):
    """The credential is there, and no key opens it."""


class Vault:
    """Seals with the first of `keys`, opens with any of them. Keys are texts of 32 characters or more."""

    def __init__(self, keys: Sequence[str]) -> None:
        fernets = [Fernet(derived_key(key, PURPOSE)) for key in keys]
        self._newest, self._all = fernets[0], MultiFernet(fernets)

    def seal(self, secret: str) -> str:
        """A text for the database; the same secret gives another one each time."""
        return self._newest.encrypt(secret.encode()).decode()

    def open(self, sealed: str, *, upstream: str) -> str:
        """What was sealed, of the upstream of that name. Raises CredentialLost."""
        try:
            return self._all.decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise _lost(upstream) from None

    def resealed(self, sealed: str, *, upstream: str) -> str | None:
        """The same secret under the newest key; None where it is so already. Raises CredentialLost."""
        try:
            self._newest.decrypt(sealed.encode())
        except InvalidToken:
            return self.seal(self.open(sealed, upstream=upstream))
        return None


def vault() -> Vault:
    """The vault of this process: CREDENTIAL_KEYS go first; what was sealed before they were set still opens."""
    return _vault((*settings.CREDENTIAL_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=4)
def _vault(keys: tuple[str, ...]) -> Vault:
    return Vault(keys)


def ending(secret: str) -> str:
    """The last characters, to recognise a long secret by; nothing of a short one."""
    return secret[-LAST_SHOWN:] if len(secret) >= LONG_ENOUGH else ""


def _lost(upstream: str) -> CredentialLost:
    return CredentialLost(
        f"The credential of {upstream} cannot be opened: the key that sealed it is no longer known here.",
        reason="upstream_credentials",
        suggestion=f"Tell the operator: enter the credential of {upstream} again in the admin, or put the former key "
        "back, at the end of CREDENTIAL_KEYS or SECRET_KEY_FALLBACKS.",
    )
