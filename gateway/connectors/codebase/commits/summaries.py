"""What changed in each file, in a sentence whose names are all checked against the file's diff."""

from gateway.connectors.codebase.commits.facts import FileFacts
from gateway.connectors.codebase.commits.truth import Truth
from gateway.connectors.codebase.commits.wording import summary


class Summaries:
    """Writes a file's summary when it is first needed and caches it, because the message and the list of files both use
    it. `truncated`: the diff lacks lines or files. `secrets`: values that no summary may contain."""

    def __init__(self, secrets: frozenset[str] = frozenset(), *, truncated: bool) -> None:
        self._secrets, self._truncated = secrets, truncated
        self._written: dict[str, str] = {}

    def of(self, file: FileFacts) -> str:
        path = file.change.path
        if path not in self._written:
            self._written[path] = self._summary(file)
        return self._written[path]

    def _summary(self, file: FileFacts) -> str:
        text = summary(file, truncated=self._truncated)
        if Truth((file.change,), self._secrets).holds(text):
            return text
        # A summary without names: the kind of change, and how many lines if all are known.
        lines = "" if file.change.cut else f" (+{file.plus} -{file.minus})"
        return f"{file.change.kind.value.lower()}{lines}"
