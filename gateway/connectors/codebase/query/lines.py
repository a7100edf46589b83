"""grep and findReferences: the lines that match a pattern or use a name."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_protection.core import patterns
from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.index.grams import texts_in
from gateway.connectors.codebase.query.file_names import named, shown, written
from gateway.connectors.codebase.query.query_result import MATCHES, HasLeft, QueryResult, match
from gateway.connectors.codebase.query.sources import Sources
from gateway.connectors.codebase.secrets import sanitized

MOST_LINES = 10  # shown of one match
LONGEST_LINE = 300  # characters shown of a line
SEEN = 100  # characters at the start of a line that every format of an answer shows
LEAD = 40  # characters shown before a match further on in a long line
NEAR = 900  # characters around a match in which secrets are looked for
REGEX_SECONDS = 0.5  # for one file; an expression that takes longer may backtrack without end

_WORD = re.compile(r"\w")

Find = Callable[[str], Iterable[tuple[int, int]]]  # start and end of each match in a text


def grep(query: Mapping[str, Any], sources: Sources, has_left: HasLeft) -> QueryResult:
    find = _finder(query)
    texts = texts_in(query["pattern"]) if query["isRegex"] else [query["pattern"]]
    return _lines(query, sources.paths_that_may_hold(texts), find, sources, has_left)


def find_references(query: Mapping[str, Any], sources: Sources, has_left: HasLeft) -> QueryResult:
    name = query["name"]
    before, after = (r"(?<!\w)" if _WORD.match(name[0]) else ""), (r"(?!\w)" if _WORD.match(name[-1]) else "")
    whole = re.compile(f"{before}{re.escape(name)}{after}")
    paths = sources.paths_that_may_hold([name])
    return _lines(query, paths, lambda text: (each.span() for each in whole.finditer(text)), sources, has_left)


def _finder(query: Mapping[str, Any]) -> Find:
    pattern = query["pattern"]
    if not query["isRegex"]:
        literal = re.compile(re.escape(pattern), re.IGNORECASE if query["ignoreCase"] else 0)
        return lambda text: (each.span() for each in literal.finditer(text))
    try:
        compiled = patterns.compiled(pattern, is_multiline=True, ignores_case=query["ignoreCase"])
    except InvalidArgument as refused:
        raise replace(
            refused,
            reason="invalid_query",
            parameter="query.pattern",
            value=pattern,
            message=f"query.pattern: {refused.message}",
            suggestion="Correct query.pattern, or set query.isRegex to false to search for it literally.",
        ) from None
    return lambda text: (each.span() for each in compiled.finditer(text, timeout=REGEX_SECONDS))


def _lines(
    query: Mapping[str, Any], paths: Sequence[str], find: Find, sources: Sources, has_left: HasLeft
) -> QueryResult:
    """Searches the files in the order of their paths, so that another query can continue after the last one whose
    matches were all shown. A file is shown in part only if it alone has more matches than the limit."""
    after, offset, limit = named(query.get("after", "")), query["offset"], query["limit"]
    rows: list[dict[str, Any]] = []
    slow: list[str] = []
    read, last = 0, after
    for path in paths:
        if path <= after:
            continue
        if not has_left():
            left_out = " ".join([f"Files after {shown(last) or 'the start'} were not searched.", *_too_slow(slow)])
            return QueryResult(MATCHES, rows, read, left_out=left_out, next_query=_continued(query, last, offset))
        text = _text(path, query, sources)
        read += 1
        try:
            found = list(_matches(path, text, find, offset + limit + 1)) if text is not None else []
        except TimeoutError:
            found = []
            slow.append(path)
        following = found[offset:]
        if len(rows) + len(following) > limit:
            answered = rows or following[:limit]
            next_query = _continued(query, last, offset if rows else offset + limit)
            left_out = " ".join(_too_slow(slow))
            return QueryResult(MATCHES, answered, read, has_more=True, left_out=left_out, next_query=next_query)
        rows, last, offset = [*rows, *following], path, max(0, offset - len(found))
    return QueryResult(MATCHES, rows, read, left_out=" ".join(_too_slow(slow)))


def _text(path: str, query: Mapping[str, Any], sources: Sources) -> str | None:
    """The text of the file. An expression sees its lines without the carriage returns of Windows, before which $ would
    not match, unless it names them itself."""
    text = sources.text(path)
    if text is None or not query.get("isRegex") or "\r" in query["pattern"] or "\\r" in query["pattern"]:
        return text
    return text.replace("\r\n", "\n")


def _too_slow(paths: Sequence[str]) -> list[str]:
    return [f"The expression took too long in {len(paths)} files, such as {shown(paths[0])}."] if paths else []


def _continued(query: Mapping[str, Any], last: str, offset: int) -> dict[str, Any]:
    """The query that continues after the file `last` and the next `offset` matches."""
    return {**query, **({"after": written(last)} if last else {}), "offset": offset}


def _matches(path: str, text: str, find: Find, most: int) -> Iterator[dict[str, Any]]:
    """Yields a row for each line where a match begins."""
    line, position, previous = 1, 0, 0
    for start, end in find(text):
        if start == len(text) and text[-1:] in ("", "\n"):  # ^ and $ also match behind the last line
            return
        line += text.count("\n", position, start)
        position = start
        if line == previous:
            continue
        previous = line
        last = min(line + text.count("\n", start, max(start, end - 1)), line + MOST_LINES - 1)
        yield match(path, line, last, _excerpt(text, start, last - line + 1))
        most -= 1
        if not most:
            return


def _excerpt(text: str, position: int, lines: int) -> str:
    begin = text.rfind("\n", 0, position) + 1
    first = _first_shown(text, begin, position)
    shown_lines = text[first : (LONGEST_LINE + 1) * lines + position].split("\n")[:lines]
    return ("…" if first > begin else "") + "\n".join(_clipped(each.rstrip("\r")) for each in shown_lines)


def _first_shown(text: str, begin: int, position: int) -> int:
    """Where the excerpt of a line from `begin` on begins: shortly before a match that is far inside a long line. Not if
    a secret is near, which may be recognised only by what stands before it."""
    is_long = "\n" not in text[begin : begin + LONGEST_LINE + 1] and begin + LONGEST_LINE < len(text)
    if not is_long or position - begin <= SEEN:
        return begin
    near = text[max(begin, position - NEAR) : position + NEAR]
    return position - LEAD if sanitized(near) == near else begin


def _clipped(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
