"""Stores credentials of upstreams encrypted and authenticated ("sealed"), and decrypts ("opens") them to be sent.

The database alone reveals no credential; the database and the keys together reveal all. The newest key seals. Former
keys still open what they sealed, and can be removed after `manage.py rotate_credentials`.
"""

from collections.abc import Sequence
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from context_protection.core.cursors import derived_key
from gateway.upstreams.errors import UpstreamError

PURPOSE = b"sluice credential"
LAST_SHOWN = 4  # characters by which ops recognise a secret
LONG_ENOUGH = 12  # characters; for a shorter secret the last four would reveal too much


class CredentialLost(UpstreamError):
    """The credential is missing, or no key opens it."""


class Vault:
    """Seals with the first of `keys`, opens with any of them. Keys have at least 32 characters."""

    def __init__(self, keys: Sequence[str]) -> None:
        fernets = [Fernet(derived_key(key, PURPOSE)) for key in keys]
        self._newest, self._all = fernets[0], MultiFernet(fernets)

    def seal(self, secret: str) -> str:
        """The sealed text for the database. The same secret gives a different text each time."""
        return self._newest.encrypt(secret.encode()).decode()

    def open(self, sealed: str, *, upstream: str) -> str:
        """The secret of the named upstream. Raises CredentialLost."""
        try:
            return self._all.decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise _lost(upstream) from None

    def resealed(self, sealed: str, *, upstream: str) -> str | None:
        """The secret sealed with the newest key; None if it already is. Raises CredentialLost."""
        try:
            self._newest.decrypt(sealed.encode())
        except InvalidToken:
            return self.seal(self.open(sealed, upstream=upstream))
        return None


def vault() -> Vault:
    """The vault of this process. CREDENTIAL_KEYS come first. The secret keys still open secrets that were sealed before
    CREDENTIAL_KEYS was set."""
    return _vault((*settings.CREDENTIAL_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=4)
def _vault(keys: tuple[str, ...]) -> Vault:
    return Vault(keys)


def ending(secret: str) -> str:
    """The last characters of a long secret, to recognise it by; "" for a short one."""
    return secret[-LAST_SHOWN:] if len(secret) >= LONG_ENOUGH else ""


def _lost(upstream: str) -> CredentialLost:
    return CredentialLost(
        f"The credential of {upstream} cannot be decrypted: the key that encrypted it is no longer configured.",
        reason="upstream_credentials",
        suggestion=f"Tell the operator: enter the credential of {upstream} again in the admin, or put the former key "
        "back, at the end of CREDENTIAL_KEYS or SECRET_KEY_FALLBACKS.",
    )
