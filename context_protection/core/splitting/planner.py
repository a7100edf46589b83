"""Plans how a long text is split into chunks that end at natural boundaries (FR-020 to FR-023).

`plan` reads a text once and returns the positions of its chunks. The plan is small and is stored, so the text is not
read again for the next chunk. The concatenated chunks equal the text, character for character. `plan_windows` does the
same window by window, for a text that does not fit into memory.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from context_protection.core.splitting.blocks import Reader
from context_protection.core.splitting.chunks import ChunkLimits, ChunkPlan
from context_protection.core.splitting.cutter import Cutter
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.lines import find_line_ends, line_span, split_lines, utf8_length
from context_protection.core.splitting.logs import LogReader
from context_protection.core.splitting.markdown import MarkdownReader
from context_protection.core.splitting.records import CsvReader, JsonlReader
from context_protection.core.splitting.source_code import CodeReader


def plan(
    text: str, form: TextForm, limits: ChunkLimits, *, first_line: int = 1, last_line: int | None = None
) -> ChunkPlan:
    """The plan of `text`, or of its lines `first_line` to `last_line` (FR-020, FR-021, FR-023).

    A chunk ends at the last boundary (entry, block, sentence) within `limits.lines` lines for line content, and within
    `limits.tokens` tokens for other texts. A longer unit stays whole up to `limits.cap`. A unit over the cap is divided
    at its lines, a line at its sentences, a sentence at its words, a word at its graphemes (user-perceived characters),
    and only a grapheme over the cap between its code points. Raises RangeError.
    """
    ends = find_line_ends(text)
    start, stop = line_span(ends, first_line, last_line)
    if start == stop:
        return ChunkPlan((start, stop), (0,), (first_line,), (first_line,), len(ends))
    blocks = _reader(form).blocks(split_lines(text, ends), ends, is_last=True)
    return _plan_of_cuts(text, Cutter(text, form, blocks, ends, limits, start, stop).cuts(stop), ends)


WINDOW = 1 << 20  # characters; many times the longest chunk
_BLOCK_CHUNKS = 1024


def plan_windows(
    pieces: Iterable[str], form: TextForm, limits: ChunkLimits, total_lines: int, *, window: int = WINDOW
) -> Iterator[ChunkPlan]:
    """`plan` for a text of any length in constant memory. Yields the plans of its parts in order, up to _BLOCK_CHUNKS
    chunks each, with cuts and lines counted in the whole text of `total_lines`. A text of one window is cut exactly as
    by `plan`.

    A window ends at the end of a chunk, well before the last character that was read, so that the text after every cut
    is known. The reader carries its state, such as an open fence, into the next window. A chunk must
    not be longer than a quarter of a window.
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
            part = _plan_of_cuts(seen, cuts[start : start + _BLOCK_CHUNKS + 1], ends)
            yield part.moved(offset, lines, total_lines)
        density, past = cutter.density, seen[: cuts[-1]]
        reader.go_past(past)
        offset, lines, seen = offset + len(past), lines + past.count("\n"), seen[cuts[-1] :]


def _filled_up(seen: str, source: Iterator[str], window: int) -> tuple[str, bool]:
    """`seen` extended to more than a window if the source has enough, and whether the source may have more."""
    parts, length = [seen], len(seen)
    for piece in source:
        parts.append(piece)
        length += len(piece)
        if length > window:
            return "".join(parts), True
    return "".join(parts), False


def _plan_of_cuts(text: str, cuts: Sequence[int], ends: Sequence[int]) -> ChunkPlan:
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
