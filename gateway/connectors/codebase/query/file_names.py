"""File names that are not UTF-8. JSON cannot hold them, so rows show each wrong byte as U+FFFD. Where a name must be
exact, as in a suggested query, it is quoted as git quotes it: `"src/caf\\351.txt"`."""

import re

from gateway.connectors.codebase.commits.diff_names import unquoted
from gateway.connectors.codebase.query.sources import Sources

REPLACEMENT = "\ufffd"
_WRONG = re.compile(r"[\ud800-\udfff]")
_ESCAPED = re.compile(r"[\ud800-\udfff\"\\]")


def shown(text: str) -> str:
    """The text with U+FFFD for each byte that is not UTF-8."""
    return _WRONG.sub(REPLACEMENT, text)


def written(path: str) -> str:
    """The path as a query can name it."""
    return _quoted(path) if _needs_quotes(path) else path


def named(name: str) -> str:
    """The path that a query names: the one that is written like this."""
    path = unquoted(name)
    return path if _needs_quotes(path) and name == _quoted(path) else name


def existing(name: str, sources: Sources) -> str:
    """The path that a query names. A name with U+FFFD, as rows show it, stands for the only file that is shown like
    that."""
    path = named(name)
    if REPLACEMENT not in path or path in sources.paths:
        return path
    alike = [each for each in sources.paths if shown(each) == path]
    return alike[0] if len(alike) == 1 else path


def _needs_quotes(path: str) -> bool:
    return bool(_WRONG.search(path)) or path[:1] == path[-1:] == '"'


def _quoted(path: str) -> str:
    return f'"{_ESCAPED.sub(_escape, path)}"'


def _escape(found: re.Match[str]) -> str:
    """Each byte of the character as `\\` and three octal digits."""
    return "".join(f"\\{byte:03o}" for byte in found[0].encode(errors="surrogateescape"))
