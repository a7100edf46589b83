"""`search` in a text: the lines that contain the words, with the chunks that hold them, instead of the text."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from context_protection.core import long_texts, short_texts, texts
from context_protection.core.cursors import SnapshotOrigin, Snapshots
from context_protection.core.errors import InvalidArgument
from context_protection.core.long_texts import LONG_TEXT_CHARS, available_plan
from context_protection.core.patterns import SECONDS
from context_protection.core.payloads import AS_COMPUTED, AnswerRequest, Payload, Piece, Record, Rows, Text
from context_protection.core.policy import Policy
from context_protection.core.query.words import PARAMETER, SearchWords
from context_protection.core.results import search
from context_protection.core.results.search import Hit, SearchResult
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.splitting.plans import Indexing, number_at
from context_protection.core.text_traits import chunk_sizes_of

ChunkNumbers = Callable[[int], int]

SHOWN = 5  # matching lines of an answer, unless the caller sets a limit
MOST_LINES = 100  # matching lines of one search; the next one begins at `nextFrom`
READ_ON = 20  # lines in the hint for reading from the first match on
SECONDS_ALONE = 0.25  # how long counting the lines with one of the words may take


def lines(
    payload: Record | Text, request: AnswerRequest, policy: Policy, snapshots: Snapshots
) -> tuple[MemoryRows, AnswerRequest]:
    """The matching lines as rows, and the request for a page of them. Raises InvalidArgument (search, startLine,
    endLine)."""
    if isinstance(payload, Record) or payload.facts is not None:
        raise _not_searchable(request.search)
    text = payload
    unsearched = replace(request, search=None)
    if request.snapshot is not None:  # it stores the matches
        return MemoryRows((), options=AS_COMPUTED), unsearched
    looking = _TextSearch(text, SearchWords.of(request.search or ""), *texts.requested_lines(text, request))
    page = replace(unsearched, limit=request.limit or min(SHOWN, policy.max_page_size))
    return MemoryRows(lambda: looking.loaded(request, policy, snapshots), options=AS_COMPUTED), page


def _not_searchable(value: str | None) -> InvalidArgument:
    return InvalidArgument(
        "search looks into lists and texts, and this answer is neither.",
        reason="invalid_search",
        parameter=PARAMETER,
        value=value,
        expected="no search",
        suggestion="Call it again without search.",
    )


@dataclass(frozen=True)
class _TextSearch:
    """A search in the lines `first` to `last` (None: the last one) of a text."""

    text: Text
    words: SearchWords
    first: int
    last: int | None

    def loaded(self, request: AnswerRequest, policy: Policy, snapshots: Snapshots) -> Loaded:
        found = self._found(self.words, MOST_LINES)
        chunk_of = _chunk_numbers(self.text, policy) if found.hits else None
        rows = [_row(each, chunk_of) for each in found.hits]
        if found.hits:
            beyond = self._cursor_beyond(rows[0], chunk_of, request, policy, snapshots) if chunk_of else None
            further = self._reading_hint(rows[0]["line"], beyond, request)
        else:
            further = self._notes_without_match(found)
        return Loaded(rows, {**_progress(found), **further}, total=found.total)

    def _found(self, words: SearchWords, limit: int, seconds: float = SECONDS) -> SearchResult:
        pieces = ((piece.line, piece.start, piece.text) for piece in self._pieces())
        return search.search_text(pieces, words.pattern, start=self.first, limit=limit, seconds=seconds)

    def _pieces(self) -> Iterator[Piece]:
        for piece in self.text.pieces(self.text.version, self.first):
            if self.last is None or piece.line + piece.text.count("\n") <= self.last:
                yield piece
                continue
            if piece.line <= self.last:
                within = piece.text.split("\n", self.last - piece.line + 1)[: self.last - piece.line + 1]
                yield replace(piece, text="\n".join(within))
            return

    def _cursor_beyond(
        self,
        row: Mapping[str, Any],
        chunk_of: ChunkNumbers,
        request: AnswerRequest,
        policy: Policy,
        snapshots: Snapshots,
    ) -> str | None:
        """The cursor of the chunk with the row's match, if its line is so long that it begins in an earlier chunk."""
        if row["chunkIndex"] == chunk_of(self.text.line_start(self.text.version, row["line"])):
            return None
        origin = SnapshotOrigin(request.operation, request.caller, _own_arguments(request))
        chunk_cursor = short_texts.chunk_cursor if self.text.chars <= LONG_TEXT_CHARS else long_texts.chunk_cursor
        return chunk_cursor(self.text, row["chunkIndex"], origin, policy, snapshots)

    def _reading_hint(self, line: int, cursor: str | None, request: AnswerRequest) -> dict[str, Any]:
        """The call that reads on from the first match: its lines, or the chunk of this cursor."""
        last = min(line + READ_ON - 1, self.text.lines)
        place = {"cursor": cursor} if cursor else {"startLine": line, "endLine": last}
        return {"detailsAvailable": request.hints(request.operation, {**_own_arguments(request), **place})}

    def _notes_without_match(self, found: SearchResult) -> dict[str, Any]:
        """Notes for a search without a match: how many lines have each word alone."""
        if not found.complete:
            return {}
        return {"notes": [_missed(self._line_count), *self.words.notes_of_each("Lines", self._count_alone)]}

    @property
    def _line_count(self) -> int:
        last = self.text.lines if self.last is None else min(self.last, self.text.lines)
        return last - self.first + 1

    def _count_alone(self, word: SearchWords) -> int | None:
        return self._found(word, 1, SECONDS_ALONE).total


def _missed(line_count: int) -> str:
    if line_count == 1:
        return "The only line that was searched lacks words of search. Try fewer, or parts of words."
    return f"None of {line_count:,} lines has all words of search. Try fewer, or parts of words."


def _progress(found: SearchResult) -> dict[str, Any]:
    """The number of matching lines, and where the next search begins if this one ended before the end of the text."""
    total = {} if found.total is None else {"totalCount": found.total}
    if found.next_from is None:
        return total
    begins = f"Search again with startLine={found.next_from} for the matches from there on."
    return {**total, "complete": found.complete, "nextFrom": found.next_from, "notes": [begins]}


def _own_arguments(request: AnswerRequest) -> dict[str, Any]:
    """The arguments that name the text."""
    return {name: value for name, value in request.arguments.items() if name not in (PARAMETER, "startLine", "endLine")}


def _row(hit: Hit, chunk_of: ChunkNumbers | None) -> dict[str, Any]:
    chunk = {"chunkIndex": chunk_of(hit.offset or 0)} if chunk_of else {}
    return {"line": hit.line or 1, **chunk, "match": hit.match}


def _chunk_numbers(text: Text, policy: Policy) -> ChunkNumbers | None:
    """Returns a function that maps a character to the number of its chunk. None while the plan of the text is being
    made."""
    if text.chars <= LONG_TEXT_CHARS:
        return short_texts.whole_plan(text, policy).at
    try:
        plan, _ = available_plan(text, chunk_sizes_of(text, policy))
    except Indexing:
        return None
    return lambda char: number_at(plan, char)


def is_searched(payload: Payload | None, request: AnswerRequest) -> TypeGuard[Record | Text]:
    """Whether lines of the payload are requested, instead of the payload. Lists search their rows themselves."""
    return request.search is not None and payload is not None and not isinstance(payload, Rows)
