"""The live account from the deployer's environment. Without one, Sluice serves the sample account."""

from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings

BASE_URL = "https://api.hostaway.com/v1"
SYNC_SECONDS = 300


@dataclass(frozen=True)
class Account:
    """`base_url` has no trailing slash."""

    id: str
    secret: str = field(repr=False)
    base_url: str = BASE_URL


def account() -> Account | None:
    """None unless both the account's id and its secret are set."""
    identifier = getattr(settings, "HOSTAWAY_ACCOUNT_ID", "")
    secret = getattr(settings, "HOSTAWAY_API_SECRET", "")
    base_url = getattr(settings, "HOSTAWAY_BASE_URL", BASE_URL).rstrip("/")
    return Account(identifier, secret, base_url) if identifier and secret else None


def interval() -> timedelta:
    """The time between two checks for changes."""
    return timedelta(seconds=getattr(settings, "HOSTAWAY_SYNC_SECONDS", SYNC_SECONDS))
