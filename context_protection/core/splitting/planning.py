"""Plans where a long text is split: into chunks that end where a reader would stop (FR-020 to FR-023).

`plan` reads a text once and returns where its chunks begin. The plan is small, so it is stored, and the next chunk does
not read the text again. The chunks concatenated are the text, character for character. `plan_windows` does the same
for a text that is too long for memory, window by window.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from context_protection.core.splitting.blocks import Reader
from context_protection.core.splitting.chunks import ChunkPlan, Limits
from context_protection.core.splitting.cutter import Cutter
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.lines import find_line_ends, line_span, split_lines, utf8_length
from context_protection.core.splitting.logs import LogReader
from context_protection.core.splitting.markdown import MarkdownReader
from context_protection.core.splitting.records import CsvReader, JsonlReader
from context_protection.core.splitting.source_code import CodeReader


def plan(text: str, form: TextForm, limits: Limits, *, first_line: int = 1, last_line: int | None = None) -> ChunkPlan:
    """Where to cut `text`, or its lines `first_line` to `last_line` (FR-020, FR-021, FR-023).

    Line content ends a chunk within `limits.lines` lines, the rest within `limits.tokens` tokens, each on the
    last boundary there: an entry's, a block's, a sentence's. A unit that is longer stays whole up to
    `limits.cap`. One that is over the cap alone is divided at its lines, a line at its sentences, a sentence
    at its words, a word at its characters as people see them; only such a character, if over the cap, is cut
    between its code points. Raises RangeError.
    """
    ends = find_line_ends(text)
    start, stop = line_span(ends, first_line, last_line)
    if start == stop:
        return ChunkPlan((start, stop), (0,), (first_line,), (first_line,), len(ends))
    blocks = _reader(form).blocks(split_lines(text, ends), ends, is_last=True)
    return _described(text, Cutter(text, form, blocks, ends, limits, start, stop).cuts(stop), ends)


WINDOW = 1 << 20  # characters: many times what a chunk can hold
_BLOCK_CHUNKS = 1024


def plan_windows(
    pieces: Iterable[str], form: TextForm, limits: Limits, total_lines: int, *, window: int = WINDOW
) -> Iterator[ChunkPlan]:
    """`plan` for a text of any length, in constant memory: the plans of its parts, in order, up to 1,024 chunks
    each, with cuts and lines counted in the whole text of `total_lines`. A text of one window is cut as `plan`
    cuts it.

    A window ends where one of its chunks does, well before the last character that was seen, so that each cut is
    made in sight of what follows. What the text before says of how to read on, such as an open fence, is kept. A
    chunk must not be longer than a quarter of a window.
    """
    source, reader, seen, more = iter(pieces), _reader(form), "", True
    offset, lines, density = 0, 0, 0.0
    while more:
        seen, more = _filled_up(seen, source, window)
        if not seen:
            return
        ends = find_line_ends(seen)
        blocks = reader.blocks(split_lines(seen, ends), ends, is_last=not more)
        cutter = Cutter(seen, form, blocks, ends, limits, 0, len(seen), density)
        cuts = cutter.cuts(len(seen) - window // 4 if more else len(seen))
        for start in range(0, len(cuts) - 1, _BLOCK_CHUNKS):
            part = _described(seen, cuts[start : start + _BLOCK_CHUNKS + 1], ends)
            yield part.moved(offset, lines, total_lines)
        density, past = cutter.density, seen[: cuts[-1]]
        reader.go_past(past)
        offset, lines, seen = offset + len(past), lines + past.count("\n"), seen[cuts[-1] :]


def _filled_up(seen: str, source: Iterator[str], window: int) -> tuple[str, bool]:
    """What was seen, with as much behind it as makes more than a window, and whether there may be still more."""
    parts, length = [seen], len(seen)
    for piece in source:
        parts.append(piece)
        length += len(piece)
        if length > window:
            return "".join(parts), True
    return "".join(parts), False


def _described(text: str, cuts: Sequence[int], ends: Sequence[int]) -> ChunkPlan:
    return ChunkPlan(
        cuts=tuple(cuts),
        sizes=tuple(utf8_length(text[start:end]) for start, end in pairwise(cuts)),
        first_lines=tuple(bisect_right(ends, start) + 1 for start in cuts[:-1]),
        last_lines=tuple(bisect_right(ends, end - 1) + 1 for end in cuts[1:]),
        total_lines=len(ends),
    )


def _reader(form: TextForm) -> Reader:
    match form:
        case TextForm.JSONL:
            return JsonlReader()
        case TextForm.LOG:
            return LogReader()
        case TextForm.CSV:
            return CsvReader()
        case TextForm.CODE:
            return CodeReader()
        case TextForm.MARKDOWN | TextForm.PROSE:  # plain text has lists, tables and fences too
            return MarkdownReader()
