"""A commit of a project's history, for code that does not load libgit2."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PastCommit:
    """`time`: when it was committed, in seconds since 1970. `paths`: files that differ from the parent; none for a
    merge, whose changes belong to the commits that it merges. Bytes of the message that cannot be decoded are
    surrogates. `by_bot`: the author's name or address is that of a program."""

    id: str
    time: int
    subject: str
    body: str
    paths: tuple[str, ...]
    merge: bool
    by_bot: bool = False
