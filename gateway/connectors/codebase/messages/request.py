"""The request of a commit message, read from the tool's arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.commits.message import MessageFormat

_NO_SCOPE = frozenset("()`\"':")


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """At most one of `since_diff` and `since_commit` is given; an empty one counts as given. `max_length`: characters
    of the whole message."""

    since_diff: str | None
    since_commit: str | None
    includes_impact: bool
    form: MessageFormat
    scope: str | None
    max_length: int
    project: str | None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "CommitRequest":
        """Raises InvalidArgument."""
        diff, commit = arguments.get("sinceDiff"), arguments.get("sinceCommit")
        if diff is not None and commit is not None:
            raise InvalidArgument(
                "sinceDiff and sinceCommit are both given, but only one of them can be the change.",
                reason="invalid_arguments",
                parameter="sinceCommit",
                value=commit,
                expected="sinceDiff or sinceCommit, or neither for the work tree",
                suggestion="Leave sinceCommit out to describe the diff, or sinceDiff to describe the project.",
            )
        return cls(
            since_diff=diff,
            since_commit=commit,
            includes_impact=arguments["includeImpact"],
            form=MessageFormat(arguments["format"]),
            scope=_scope(arguments.get("scope")),
            max_length=arguments["maxLength"],
            project=arguments.get("project"),
        )

    def arguments(self) -> dict[str, Any]:
        """The arguments that a suggested next call repeats, without the diff, which is too long."""
        given = {"sinceCommit": self.since_commit, "scope": self.scope, "project": self.project}
        return {
            **{name: value for name, value in given.items() if value is not None},
            "includeImpact": self.includes_impact,
            "format": self.form.value,
            "maxLength": self.max_length,
        }


def _scope(scope: str | None) -> str | None:
    if scope is None or (scope.strip() == scope != "" and scope.isprintable() and _NO_SCOPE.isdisjoint(scope)):
        return scope
    raise InvalidArgument(
        "scope cannot be written in the title of a commit.",
        reason="invalid_value",
        parameter="scope",
        value=scope,
        expected="a word such as parser, without brackets, quotes, colons and ends of lines",
        suggestion="Set scope to one word, or leave it out for the one that the project's history suggests.",
    )
