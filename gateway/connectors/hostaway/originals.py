"""The original values that redaction has masked in a stored object. They are stored encrypted in the object's row. Only
API keys that may reveal a field see its value."""

import logging
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import orjson

from context_protection.core.redaction import Finding, Visibility, redact
from gateway.upstreams.auth.vault import CredentialLost, vault

logger = logging.getLogger(__name__)

Patch = list[tuple[list[str | int], Any]]  # the path of each value, and the value


def sealed(upstream: Mapping[str, Any], findings: Iterable[Finding]) -> str:
    """The values of `upstream` that `findings` name, encrypted; "" if there are none."""
    paths = dict.fromkeys(finding.path for finding in findings)
    patch = [(list(path), reduce(_below, path, upstream)) for path in paths]
    return vault().seal(orjson.dumps(patch).decode()) if patch else ""


def opened(seal: str) -> Patch:
    """The decrypted values. Empty if there are none, or if no key can decrypt them; then they stay masked until the
    object is synced again."""
    if not seal:
        return []
    try:
        patch: Patch = orjson.loads(vault().open(seal, upstream="Hostaway"))
    except CredentialLost:
        logger.warning("withheld values cannot be opened: the key that sealed them is gone")
        return []
    return patch


def restored(data: str, seal: str, visibility: Visibility) -> dict[str, Any]:
    """The object as shown to a caller of this visibility."""
    value: dict[str, Any] = orjson.loads(data)
    patch = opened(seal)
    for (*above, last), original in patch:
        at: Any = reduce(_below, above, value)
        at[last] = original
    return redact(value, visibility)[0] if patch else value


def _below(value: Any, step: str | int) -> Any:
    return value[step]
