"""The values of a configuration file by scope, each with its line.

profiles: [bookings]
global: {hardCap: 9000}
connectors: {nsip: {cacheSeconds: 600}}
operations: {"list_*": {defaultPageSize: 20}, get_booking: {tokenBudgetThreshold: 3000}}
callers: {desk: {global: {…}, connectors: {…}, operations: {…}}}
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from context_protection.core.errors import nearest
from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import BudgetScope, Scoped
from context_protection.core.setting import Setting
from context_protection.layers.file.documents import FileProblem, Located
from context_protection.layers.file.profiles import PROFILE_SPELLINGS, PROFILES

WRAPPERS = ("contextProtection", "context_protection")  # either may wrap the whole document
CHOSEN, GLOBAL, CONNECTORS, OPERATIONS, CALLERS = "profiles", "global", "connectors", "operations", "callers"
OF_CALLER = (GLOBAL, CONNECTORS, OPERATIONS)
WHOLE = (CHOSEN, *OF_CALLER, CALLERS)
MOST_BUDGETS = 500  # scopes of a file: each is checked together with all others, while calls may wait for it
LONGEST_NAME = 100  # characters of an operation, a connector or a caller
SPELLINGS: Mapping[str, Setting] = {name: each for each in SETTINGS.values() for name in each.spellings}


@dataclass(frozen=True)
class FileLayer:
    """`lines`: the line of each value, by scope and setting. A value of a profile has the line that names the
    profile."""

    values: Scoped = field(default_factory=dict)
    lines: Mapping[tuple[BudgetScope, str], int] = field(default_factory=dict)

    def line(self, scope: BudgetScope, name: str) -> int | None:
        return self.lines.get((scope, name))


NO_FILE = FileLayer()


def layer_of(document: Located) -> tuple[FileLayer, list[FileProblem]]:
    """The layer and its problems. A layer with a problem must not be used."""
    reader = _LayerReader()
    reader.read(document)
    return FileLayer(reader.values, reader.lines), sorted(reader.problems, key=lambda each: each.line or 0)


class _LayerReader:
    def __init__(self) -> None:
        self.problems: list[FileProblem] = []
        self.values: dict[BudgetScope, dict[str, Any]] = {}
        self.lines: dict[tuple[BudgetScope, str], int] = {}

    def read(self, document: Located) -> None:
        parts = self._parts(_unwrapped(document), "", WHOLE)
        self._scopes(parts, "", caller="")
        for caller, each in self._named(parts, CALLERS, "").items():
            path = f"{CALLERS}.{caller}"
            self._scopes(self._parts(each, path, OF_CALLER), f"{path}.", caller)
        if CHOSEN in parts and parts[CHOSEN].value is not None:  # a name with nothing below sets nothing
            self._profiles(parts[CHOSEN])
        if len(self.values) > MOST_BUDGETS:
            advice = "Use patterns for the values that they share."
            self._add(
                1, "", f"The file sets values for {len(self.values):,} scopes; at most {MOST_BUDGETS:,}. {advice}"
            )

    def _scopes(self, parts: Mapping[str, Located], above: str, caller: str) -> None:
        if GLOBAL in parts:
            self._settings(parts[GLOBAL], f"{above}{GLOBAL}", BudgetScope(caller=caller))
        for name, each in self._named(parts, CONNECTORS, above).items():
            self._settings(each, f"{above}{CONNECTORS}.{name}", BudgetScope(connector=name, caller=caller))
        for name, each in self._named(parts, OPERATIONS, above).items():
            self._settings(each, f"{above}{OPERATIONS}.{name}", BudgetScope(name, caller=caller))

    def _settings(self, found: Located, path: str, scope: BudgetScope) -> None:
        for name, each in self._object(found, path).items():
            key, setting = f"{path}.{name}", SPELLINGS.get(name)
            if setting is None:
                self._unknown("setting", name, key, each.line, [known.canonical_name for known in SETTINGS.values()])
                continue
            value = setting.meant(_bare(each.value))
            if problem := setting.problem(value):
                self._add(each.line, key, f"{path}: {problem.sentence}")
            elif misplaced := setting.misplaced(scope.breadth):
                self._add(each.line, key, f"{key}: {misplaced}")
            elif (first := self.lines.get((scope, setting.name))) is not None:
                self._add(each.line, key, f"{key} repeats the setting in line {first} in another spelling. Remove one.")
            else:
                self._set(scope, setting.name, value, each.line)

    def _profiles(self, chosen: Located) -> None:
        """Sets what the file itself does not set for the same scope."""
        names = chosen.value if isinstance(chosen.value, list) else [chosen]
        for each in names:
            name = each.value
            profile = PROFILES.get(PROFILE_SPELLINGS.get(name, "")) if isinstance(name, str) else None
            if profile is None:
                self._unknown("profile", str(_bare(name)), CHOSEN, each.line, PROFILES)
                continue
            for scope, values in profile.items():
                for setting, value in values.items():
                    if (scope, setting) not in self.lines:
                        self._set(scope, setting, value, each.line)

    def _set(self, scope: BudgetScope, name: str, value: Any, line: int) -> None:
        self.values.setdefault(scope, {})[name] = value
        self.lines[scope, name] = line

    # -- Objects ------------------------------------------------------------------------------------

    def _parts(self, found: Located, path: str, known: tuple[str, ...]) -> dict[str, Located]:
        """The members of an object whose names are fixed."""
        parts = self._object(found, path)
        for name in parts.keys() - set(known):
            if not path and name in WRAPPERS:
                beside = "it must hold all settings if it is there. Move the other names into it, or remove it"
                self._add(parts[name].line, name, f"{name}: {beside}.")
                continue
            self._unknown("key", name, f"{path}.{name}" if path else name, parts[name].line, known)
        return {name: each for name, each in parts.items() if name in known}

    def _named(self, parts: Mapping[str, Located], name: str, above: str) -> dict[str, Located]:
        """The members of an object whose names are those of connectors, operations or callers."""
        if name not in parts:
            return {}
        found = self._object(parts[name], f"{above}{name}")
        key = f"{above}{name}"
        for each in [each for each in found if not 0 < len(each) <= LONGEST_NAME or each != each.strip()]:
            limits = f"must have 1 to {LONGEST_NAME} characters, without spaces at its ends"
            self._add(found.pop(each).line, key, f"{key}: the name {each[:20]!r} {limits}.")
        return found

    def _object(self, found: Located, path: str) -> dict[str, Located]:
        if isinstance(found.value, dict):
            return dict(found.value)
        if found.value is not None or not path:  # a name with nothing below sets nothing
            where = path or "The file"
            self._add(found.line, path, f"{where} must be an object of names and values; it is {_kind(found.value)}.")
        return {}

    def _unknown(self, what: str, name: str, key: str, line: int, known: Iterable[str]) -> None:
        known = list(known)
        close = nearest(name, known)
        advice = f"Did you mean {close}?" if close else f"Known: {', '.join(known)}."
        self._add(line, key, f"{key}: there is no {what} {name[:60]!r}. {advice}")

    def _add(self, line: int, key: str, sentence: str) -> None:
        self.problems.append(FileProblem(line, key, sentence))


def _unwrapped(document: Located) -> Located:
    members = document.value
    if isinstance(members, dict) and len(members) == 1:
        return next((members[name] for name in WRAPPERS if name in members), document)
    return document


def _bare(value: Any) -> Any:
    """The value without its lines, as messages show it."""
    if isinstance(value, dict):
        return {name: _bare(each.value) for name, each in value.items()}
    return [_bare(each.value) for each in value] if isinstance(value, list) else value


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    return "a list" if isinstance(value, list) else repr(value)[:60]
