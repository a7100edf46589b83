"""A commit of a project's past, as the other parts see it. They need no libgit2."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PastCommit:
    """`time`: when it was committed, in seconds since 1970. `paths`: files that differ from the first parent; none of a
    merge, whose files belong to the commits that it brings, and at most MAX_PATHS. Bytes of the message that are not of
    its encoding are surrogates. `by_bot`: its author's name or address says that it is a program."""

    id: str
    time: int
    subject: str
    body: str
    paths: tuple[str, ...]
    merge: bool
    by_bot: bool = False
