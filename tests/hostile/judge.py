"""What no answer may be, however hostile the upstream was."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from context_protection.core import budget, errors, handles, tokens
from context_protection.core.policy import Policy
from tests.hostile.calls import meta_of

POLICY = Policy()
HANDLE_TOKENS = handles.MAX_TOKENS
NEARLY = 0.85  # of a limit; from here on ctok itself counts
INTERNAL = {errors.INTERNAL, errors.CONDENSING}


def limit_of(answer: Mapping[str, Any]) -> int:
    """In Claude's tokens."""
    if set(answer) == {"error"}:
        return errors.MAX_TOKENS
    meta = meta_of(answer)
    is_short = meta.get("kind") == "handle" and "withheld" not in meta and "notes" not in meta
    return HANDLE_TOKENS if is_short else POLICY.hard_cap


def tokens_of(text: str, limit: int) -> int:
    quick = tokens.claude.count(text)
    return quick if quick < limit * NEARLY else tokens.exact(text)


def document_of(text: str) -> dict[str, Any]:
    """Raises ValueError if it is no object of strict JSON."""
    found = json.loads(text, parse_constant=_refuse)
    if not isinstance(found, dict):
        raise ValueError("no object")
    text.encode()
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def faults(answer: Mapping[str, Any], text: str, count: int) -> Iterator[str]:
    limit = limit_of(answer)
    if count > limit:
        yield f"over the cap: {count:,} tokens of {limit:,}"
    if len(text) > budget.most_chars(POLICY):
        yield f"over the cap: {len(text):,} characters"
    error = answer.get("error")
    if set(answer) == {"error"} and isinstance(error, dict) and error.get("code") in INTERNAL:
        yield f"internal error: {text[:500]}"
    if set(answer) != {"error"} and not meta_of(answer):
        yield f"no meta at the beginning: {text[:200]}"


def kind_of(answer: Mapping[str, Any]) -> str:
    """As the summary counts answers."""
    error = answer.get("error")
    if set(answer) == {"error"} and isinstance(error, dict):
        return f"error {error.get('reason')}"
    form = next((name for name in ("table", "groups", "content", "items", "matches") if name in answer), "record")
    return f"{meta_of(answer).get('kind', '')} {form}".strip()
