"""Masks the arguments and errors of calls before telemetry stores them. Secrets are masked even if the key may see
them, because staff read the records."""

from collections.abc import Iterator, Mapping
from typing import Any

from context_protection.configuration import policies
from context_protection.core.redaction import POLICY, Visibility, mark, redact
from gateway.catalog.catalog import catalogue
from gateway.upstreams import failures
from telemetry.arguments import Hidden, Masked

PASSWORD, CREDENTIAL = "password", "credential"


def masked(operation: str, value: Mapping[str, Any]) -> Masked:
    """The JSON value with a mark in place of each secret. A secret is recognised by its name, its label, its text, the
    operation's schema, the form of a known kind of token, or the policy."""
    hidden: list[Hidden] = []
    operation = catalogue.current_name(operation)
    visibility = Visibility(withheld=policies.last_policy_for(operation).withheld)
    rules = {**dict.fromkeys(_asking(operation, visibility), POLICY), **dict.fromkeys(_passwords(operation), PASSWORD)}
    without_passwords = {
        name: _hide(name, each, rules[name], hidden) if name in rules else each for name, each in value.items()
    }
    redacted, findings = redact(without_passwords, visibility)
    for finding in findings:
        path = ".".join(map(str, finding.path))
        hidden.append(Hidden(_name(path), _length_at(without_passwords, finding.path), finding.kind))
    return Masked(_without_tokens("", redacted, hidden), tuple(hidden))


def _passwords(operation: str) -> frozenset[str]:
    """Arguments that the operation's schema declares as passwords or as write-only."""
    known = catalogue.find(operation)
    if known is None:
        return frozenset()
    return frozenset(
        name
        for name, schema in known.parameters.items()
        if schema.get("format") == "password" or schema.get("writeOnly")
    )


def _asking(operation: str, visibility: Visibility) -> Iterator[str]:
    """Arguments that compare a field that the policy withholds."""
    known = catalogue.find(operation)
    for name, fields in known.compares.items() if known is not None else ():
        if any(visibility.withholds(each.split(".")) for each in fields):
            yield name


def _hide(name: str, value: Any, rule: str, hidden: list[Hidden]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    hidden.append(Hidden(_name(name), len(str(value)), rule))
    return mark(rule)


def _without_tokens(path: str, value: Any, hidden: list[Hidden]) -> Any:
    """Masks tokens in texts and in names, because a client may have sent one in place of a name."""
    if isinstance(value, str):
        safe = failures.masked(value, ())
        if safe != value:
            hidden.append(Hidden(path, len(value), CREDENTIAL))
        return safe
    if isinstance(value, dict):
        return {
            (safe := _name(name)): _without_tokens(f"{path}.{safe}" if path else safe, each, hidden)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_without_tokens(f"{path}.{place}", each, hidden) for place, each in enumerate(value)]
    return value


def _name(text: str) -> str:
    return failures.masked(text, ())


def _length_at(value: Any, path: tuple[str | int, ...]) -> int:
    for step in path:
        value = _below(value, step)
    return len(str(value))


def _below(value: Any, step: str | int) -> Any:
    if isinstance(value, list):
        return value[step] if isinstance(step, int) and step < len(value) else value
    return value.get(step, value) if isinstance(value, dict) else value
