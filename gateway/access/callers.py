"""Authentication: every transport turns its credentials into a Caller here."""

import time
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache

from django.db import DatabaseError

from context_protection.configuration import policies
from context_protection.configuration.live import Live
from context_protection.configuration.revisions import revisions
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import NotAuthenticated, store_unavailable
from context_protection.layers.withheld_names import WithheldNames
from context_protection.stores.database_errors import means_unavailable
from gateway.access import quotas
from gateway.access.keys import digest, hint
from gateway.access.models import ApiKey
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller, ToolChoice
from gateway.catalog.catalog import catalogue
from gateway.catalog.hidden_tools import HiddenTools
from gateway.threads.bridge import run_sync
from telemetry import rejections
from telemetry.rejections import Rejection

CHALLENGE = 'Bearer realm="sluice"'  # WWW-Authenticate

KEYS_SECONDS = 600.0  # how long loaded keys stay valid while the database cannot be read


def current() -> "Keys | None":
    """All keys if they are in memory and current, else None. Functions here that receive them do not block."""
    return _live.current() if are_recent() else None


def caller_of(authorization: str, visit: Visit, keys: "Keys | None" = None) -> Caller:
    """The caller of an `Authorization` header. Raises NotAuthenticated; a rejected key is recorded."""
    scheme, _, credentials = authorization.partition(" ")
    key = credentials.strip()
    if not authorization or (scheme.lower() == "bearer" and not key):
        raise _not_authenticated("The call has no API key.")
    if scheme.lower() != "bearer":
        raise _not_authenticated("The Authorization header is not of the form 'Bearer <key>'.")
    try:
        return caller_of_key(key, keys)
    except NotAuthenticated:
        rejections.record(Rejection(datetime.now(UTC), visit.transport, visit.address, hint(key)))
        raise


async def identify(authorization: str, visit: Visit) -> Caller:
    """`caller_of` for the event loop: uses a thread only if keys must be loaded."""
    keys = current()
    if keys is not None:
        return caller_of(authorization, visit, keys)
    return await run_sync(caller_of, authorization, visit)


def caller_of_key(key: str, keys: "Keys | None" = None) -> Caller:
    """Raises NotAuthenticated."""
    caller = (keys or loaded()).by_digest.get(digest(key))
    if caller is None:
        raise _not_authenticated("The API key is unknown or was revoked.")
    if caller.has_expired:
        raise _not_authenticated("The API key has expired.")
    return caller


def confirm(caller: Caller, keys: "Keys | None" = None) -> Caller:
    """The up-to-date caller of a connection that may have been open for a long time. Raises NotAuthenticated if its key
    is no longer valid."""
    known = keys or loaded()
    now = known.by_digest.get(caller.digest) if caller.digest else known.by_id.get(caller.id)
    if now is None:
        raise _not_authenticated("The API key was revoked.")
    if now.has_expired:
        raise _not_authenticated("The API key has expired.")
    return now


def _not_authenticated(message: str) -> NotAuthenticated:
    return NotAuthenticated(
        message,
        reason="not_authenticated",
        parameter="Authorization",
        value="(not shown)",
        expected="Bearer and an API key",
        suggestion="Make a key with: manage.py apikey create NAME, and send it as: Authorization: Bearer <key>",
    )


@dataclass(frozen=True)
class Keys:
    """`daily_tokens`: caller's id → daily quota, for the keys that have one."""

    by_digest: Mapping[str, Caller]
    daily_tokens: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> Mapping[str, Caller]:
        return {caller.id: caller for caller in self.by_digest.values()}


def loaded() -> Keys:
    """The current keys, or the last loaded ones. Raises StoreUnavailable if none can be loaded, or if the last ones
    were confirmed more than KEYS_SECONDS ago, because a key may have been revoked since."""
    if not are_recent():
        raise store_unavailable(1)
    try:
        return _live.get()
    except DatabaseError as error:
        if means_unavailable(error):
            raise store_unavailable(1) from None
        raise


def are_recent() -> bool:
    """Whether loaded keys may be used: for KEYS_SECONDS after the database last confirmed the revision."""
    return time.monotonic() - revisions.confirmed_at < KEYS_SECONDS


def _load() -> Keys:
    keys = list(ApiKey.objects.filter(revoked_at=None).prefetch_related("tool_sets"))
    budgets = policies.budgets()
    withheld = cache(budgets.withheld)
    current = {key.digest: _caller(key, withheld(budgets.own(key.name))) for key in keys}
    rotated = {key.previous_digest: _of_old_secret(key, current[key.digest]) for key in keys if key.previous_digest}
    limits = {each.id: key.daily_tokens for key, each in zip(keys, current.values(), strict=True) if key.daily_tokens}
    quotas.begin({each.id: each.name for each in current.values() if each.id in limits})
    return Keys({**rotated, **current}, limits)


def daily_tokens(caller: str) -> int | None:
    """The daily quota of the caller with this id, in the keys that were loaded last. None: no quota. Does not block."""
    keys = _live.held
    return None if keys is None else keys.daily_tokens.get(caller)


def _caller(key: ApiKey, withheld: WithheldNames) -> Caller:
    return Caller(
        id=f"key:{key.pk}",
        digest=key.digest,
        name=key.name,
        expires_at=key.expires_at.timestamp() if key.expires_at else None,
        tools=ToolChoice(key.tool_listing, frozenset(key.pinned_tools), _hidden(key)),
        reveal=frozenset(key.reveal),
        withheld=withheld,
        projects=None if key.reads_all_projects else frozenset(key.projects),
        may_read_telemetry=key.may_read_telemetry,
        may_read_configuration=key.may_read_configuration,
    )


def _of_old_secret(key: ApiKey, caller: Caller) -> Caller:
    """The caller that uses the secret from before the rotation. It expires with that secret or with the key."""
    assert key.previous_until is not None
    until = key.previous_until.timestamp()
    return replace(caller, digest=key.previous_digest, expires_at=min(until, caller.expires_at or until))


def _hidden(key: ApiKey) -> Container[str]:
    hidden, sets = frozenset(key.hidden_tools), list(key.tool_sets.all())
    chosen = frozenset(key.allowed_tools).union(*(each.tools for each in sets))
    within = chosen.union(each.name for each in catalogue if each.in_every_set) if sets or chosen else None
    return HiddenTools(hidden, within, key.reads_only) if within is not None or key.reads_only else hidden


_live = Live(_load)
