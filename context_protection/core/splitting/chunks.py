r"""Where long text is cut: into chunks that end where a reader would stop (FR-020 to FR-023, rulings 19, 20).

`plan` looks at a text once and says where its chunks begin. The plan is small, so it is kept, and the text is
not read again for the next chunk. Put together, the chunks are the text again, character for character.
`plan_windows` does the same for a text that is too long to be held, window by window.

A line ends at "\n" and nowhere else: "\r\n" keeps its "\r" with the line, and a lone "\r", a form feed or
U+2028 ends none. What follows the last "\n" is a line if it isn't empty; an empty text has one empty line.
"""

import json
import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from itertools import accumulate, pairwise
from typing import Protocol

import regex
from sentencex import segment


class TextForm(StrEnum):
    """How a text is structured. LOG, JSONL and CSV are line content: cut by lines, not by tokens."""

    LOG = "log"
    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    PROSE = "prose"
    CODE = "code"


LINE_CONTENT = frozenset({TextForm.LOG, TextForm.JSONL, TextForm.CSV})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a chunk may be: `lines` holds for line content, `tokens` by `measure` for the rest, `cap` by
    `weigh` for every chunk. `weigh` takes a raw chunk and gives what it costs in the body that leaves, with
    the escapes; a text must not weigh less than its own beginning. Raises ValueError for a limit below 1."""

    lines: int = 200
    tokens: int = 2000
    cap: int
    measure: Callable[[str], int]
    weigh: Callable[[str], int]

    def __post_init__(self) -> None:
        for name in ("lines", "tokens", "cap"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1.")


class RangeError(ValueError):
    """A line range that makes no sense: which parameter, its value, and what was expected (FR-023)."""

    def __init__(self, parameter: str, value: int, expected: str) -> None:
        super().__init__(f"{parameter} is {value}; expected {expected}.")
        self.parameter, self.value, self.expected = parameter, value, expected


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text (FR-022). Lines count from 1 in the whole text, both inclusive; `bytes` are of UTF-8
    (DM5)."""

    content: str
    index: int
    total: int
    start_line: int
    end_line: int
    total_lines: int
    bytes: int


_PLAN_MARK = b"cp1:"


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """Where a text's chunks are: chunk i is the characters `cuts[i]` to `cuts[i + 1]`, `sizes[i]` bytes of
    UTF-8, line `first_lines[i]` to `last_lines[i]`. Two chunks share a line if that had to be divided."""

    cuts: tuple[int, ...]
    sizes: tuple[int, ...]
    first_lines: tuple[int, ...]
    last_lines: tuple[int, ...]
    total_lines: int

    @property
    def chunks(self) -> int:
        """How many there are, at least 1."""
        return len(self.sizes)

    def span(self, index: int) -> tuple[int, int]:
        """The characters of chunk `index`: start and end. Raises IndexError outside 0 to chunks - 1."""
        if not 0 <= index < self.chunks:
            raise IndexError(f"There is no chunk {index}; there are {self.chunks}, counted from 0.")
        return self.cuts[index], self.cuts[index + 1]

    def at(self, char: int) -> int:
        """The number of the chunk that holds this character."""
        return min(max(bisect_right(self.cuts, char) - 1, 0), self.chunks - 1)

    def slice(self, text: str, index: int) -> Chunk:
        """Chunk `index` of the text that was planned. Raises as `span` and `chunk` do."""
        start, end = self.span(index)
        return self.chunk(text[start:end], index)

    def chunk(self, content: str, index: int) -> Chunk:
        """Chunk `index` from the characters of its span. Raises ValueError when they are not of its size, for
        then the text is not the one that was planned."""
        if utf8_length(content) != self.sizes[index]:
            raise ValueError("This is not the text that was planned: its size differs.")
        lines = self.first_lines[index], self.last_lines[index], self.total_lines
        return Chunk(content, index, self.chunks, *lines, self.sizes[index])

    def moved(self, chars: int, lines: int, total_lines: int) -> "ChunkPlan":
        """The plan of the same text where it stands in a longer one: so many characters and lines are before it."""
        return ChunkPlan(
            cuts=tuple(chars + cut for cut in self.cuts),
            sizes=self.sizes,
            first_lines=tuple(lines + line for line in self.first_lines),
            last_lines=tuple(lines + line for line in self.last_lines),
            total_lines=total_lines,
        )

    def to_bytes(self) -> bytes:
        """32 bytes per chunk, for a cache that processes share."""
        numbers = (self.total_lines, *self.cuts, *self.sizes, *self.first_lines, *self.last_lines)
        return _PLAN_MARK + struct.pack(f"<{len(numbers)}Q", *numbers)

    @classmethod
    def from_bytes(cls, data: bytes) -> "ChunkPlan":
        """The plan that `to_bytes` wrote. Raises ValueError for anything else."""
        words, rest = divmod(len(data) - len(_PLAN_MARK), 8)
        count, odd = divmod(words - 2, 4)
        if not data.startswith(_PLAN_MARK) or rest or odd or count < 1:
            raise ValueError("These bytes are not a chunk plan of this version.")
        total_lines, *numbers = struct.unpack(f"<{words}Q", data[len(_PLAN_MARK) :])
        cuts, others = tuple(numbers[: count + 1]), numbers[count + 1 :]
        sizes, first, last = (tuple(others[i * count : (i + 1) * count]) for i in range(3))
        return cls(cuts, sizes, first, last, total_lines)


def plan(text: str, form: TextForm, limits: Limits, *, first_line: int = 1, last_line: int | None = None) -> ChunkPlan:
    """Where to cut `text`, or its lines `first_line` to `last_line` (FR-020, FR-021, FR-023).

    Line content ends a chunk within `limits.lines` lines, the rest within `limits.tokens` tokens, each on the
    last boundary there: an entry's, a block's, a sentence's. A unit that is longer stays whole up to
    `limits.cap`. One that is over the cap alone is divided at its lines, a line at its sentences, a sentence
    at its words, a word at its characters as people see them; only such a character, if over the cap, is cut
    between its code points. Raises RangeError as `line_range` does.
    """
    ends = _line_ends(text)
    start, stop = _span(ends, first_line, last_line)
    if start == stop:
        return ChunkPlan((start, stop), (0,), (first_line,), (first_line,), len(ends))
    blocks = _reader(form).blocks(_lines(text, ends), ends, is_last=True)
    return _described(text, _Cutter(text, form, blocks, ends, limits, start, stop).cuts(stop), ends)


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
        ends = _line_ends(seen)
        blocks = reader.blocks(_lines(seen, ends), ends, is_last=not more)
        cutter = _Cutter(seen, form, blocks, ends, limits, 0, len(seen), density)
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


def line_range(text: str, first_line: int = 1, last_line: int | None = None) -> tuple[int, int]:
    """Where exactly these lines are, counted from 1, both inclusive: `text[start:end]` (FR-023).

    `last_line` past the end, or None, means the last line. Raises RangeError for a `startLine` below 1 or
    past the last line, and for an `endLine` before `startLine`.
    """
    return _span(_line_ends(text), first_line, last_line)


def check_range(first: int, last: int | None, total_lines: int) -> None:
    """Raises RangeError as `line_range` does."""
    if not 1 <= first <= total_lines:
        raise RangeError("startLine", first, f"a line from 1 to {total_lines}, the last one of this text")
    if last is not None and last < first:
        raise RangeError("endLine", last, f"startLine ({first}) or a later line")


def _span(ends: Sequence[int], first: int, last: int | None) -> tuple[int, int]:
    check_range(first, last, len(ends))
    start = ends[first - 2] if first > 1 else 0
    return start, ends[min(last or len(ends), len(ends)) - 1]


def _line_ends(text: str) -> "array[int]":
    """The offset after each line."""
    ends = array("q", accumulate(len(line) + 1 for line in text.split("\n")))
    ends[-1] -= 1  # nothing stands for the "\n" that the last line hasn't …
    if len(ends) > 1 and ends[-1] == ends[-2]:
        ends.pop()  # … and what is empty after the last "\n" is no line
    return ends


def _lines(text: str, ends: Sequence[int]) -> list[str]:
    return text.split("\n")[: len(ends)]


def utf8_length(text: str) -> int:
    """Bytes of the text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# --- What form a text has

_SUFFIXES = {
    TextForm.LOG: "log",
    TextForm.JSONL: "jsonl ndjson",
    TextForm.CSV: "csv tsv",
    TextForm.MARKDOWN: "md markdown mdown mdx rmd",
    TextForm.PROSE: "rst adoc tex",
    TextForm.CODE: "bash c cc cfg conf cpp cs css dart ex go h hpp htm html ini java jl js json json5 jsx kt"
    " less lua mjs php pl proto ps1 py pyi r rb rs sass scala scss sh sql svelte svg swift tf toml ts tsx vue"
    " xml yaml yml zig",
}
_MEDIA_TYPES = {
    TextForm.LOG: "text/log text/x-log application/x-log",
    TextForm.JSONL: "application/jsonl application/jsonlines application/ndjson application/x-ndjson",
    TextForm.CSV: "text/csv text/tab-separated-values application/csv",
    TextForm.MARKDOWN: "text/markdown text/x-markdown",
    TextForm.CODE: "application/json application/xml application/yaml application/javascript application/toml"
    " application/sql application/graphql text/html text/css text/xml text/yaml text/javascript",
}
_FORM_OF_SUFFIX = {suffix: form for form, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_FORM_OF_MEDIA_TYPE = {name: form for form, names in _MEDIA_TYPES.items() for name in names.split()}
_ROTATED_LOG = re.compile(r"\.log[.-]?\d[\w.:-]*$", re.IGNORECASE)  # sync.log.1, sync.log-20261101
_CODE_MEDIA_TYPE = re.compile(r".*\+(json|xml|yaml)$|text/x-\w")
_CODE_LINE = re.compile(
    r"(#!|<\?|<!|</?\w[^>]*>)|.*[{};]\s*$|\s*[}\])]+[,;]?\s*$|\s*(import|from|def|class|function|const|let|var"
    r"|public|private|package|func|fn|use|#include|SELECT)\s+\S"
)
_MARKDOWN_LINE = re.compile(r" {0,3}#{1,6} \S|\s*([-*+]|\d{1,3}[.)]) +\S|\s*\|.*\|\s*$|.*(\]\(\w|\*\*\w)")


def detect(name: str, media_type: str, text: str) -> TextForm:
    """The form of a text: by its file name, else by its media type, else by how its first lines look."""
    if _ROTATED_LOG.search(name):
        return TextForm.LOG
    _, dot, suffix = name.rpartition(".")
    media = media_type.partition(";")[0].strip().lower()
    form = (_FORM_OF_SUFFIX.get(suffix.lower()) if dot else None) or _FORM_OF_MEDIA_TYPE.get(media)
    if form is None and _CODE_MEDIA_TYPE.match(media):
        return TextForm.CODE
    return form or _form_by_looks(text)


def csv_header(text: str) -> str:
    """The first record of a CSV file that begins with `text`, without its line end; empty if it goes on past that."""
    lines = text.removeprefix("\ufeff").split("\n")
    quotes = accumulate(line.count('"') for line in lines[:-1])
    count = next((number for number, before in enumerate(quotes, start=1) if before % 2 == 0), 0)
    return "\n".join(lines[:count]).rstrip("\r")


def _form_by_looks(text: str) -> TextForm:
    lines = text[:16_384].removeprefix("\ufeff").split("\n")
    if len(text) > 16_384 and len(lines) > 1:
        lines.pop()  # cut by us, so it would look like nothing
    lines = [line for line in lines if line.strip()][:60]
    checks: tuple[tuple[TextForm, Callable[[list[str]], bool]], ...] = (
        (TextForm.JSONL, _looks_like_jsonl),
        (TextForm.LOG, _looks_like_log),
        (TextForm.MARKDOWN, lambda lines: any(map(_FENCE.match, lines))),
        (TextForm.CSV, _looks_like_csv),
        (TextForm.CODE, lambda lines: sum(map(bool, map(_CODE_LINE.match, lines))) > 0.4 * len(lines)),
        (TextForm.MARKDOWN, lambda lines: any(map(_MARKDOWN_LINE.match, lines))),
    )
    return next((form for form, looks_so in checks if looks_so(lines)), TextForm.PROSE)


def _looks_like_jsonl(lines: list[str]) -> bool:
    return len(lines) > 1 and all(line[0] in "{[" and _is_json(line) for line in lines[:5])


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _looks_like_log(lines: list[str]) -> bool:
    """At least two entries, and no more of other lines that stand at the margin."""
    at_margin = [line for line in lines if not _CONTINUATION.match(line)]
    return sum(map(bool, map(_ENTRY.match, lines))) >= max(2, len(at_margin) / 2)


def _looks_like_csv(lines: list[str]) -> bool:
    """The same number of one separator in every row; prose has a space or a line's end behind its commas."""
    rows = [re.sub(r'"[^"]*"', "", line).rstrip() for line in lines[:20]]
    counts = ([len(re.findall(mark, row)) for row in rows] for mark in (r",(?! |$)", r";(?! |$)", "\t"))
    return len(rows) > 1 and any(len(set(count)) == 1 and count[0] for count in counts)


# --- Blocks: what a chunk holds whole


class _Inside(IntEnum):
    """Where a block that is longer than a chunk's budget may be divided although it is under the cap."""

    NOWHERE = 0  # a log entry, a CSV record, a fenced block
    SENTENCES = 1
    LINES = 2  # a table, indented code
    DEFINITIONS = 3  # code: where one ends that is as shallow as any, else at a line


@dataclass(slots=True)
class _Blocks:
    """The blocks of a text, in order: `ends[i]` is the offset after block i and the blank lines behind it.
    `bodies[i]` is where its body begins if it has a head: no chunk ends in or just after the head."""

    ends: "array[int]" = field(default_factory=lambda: array("q"))
    inside: bytearray = field(default_factory=bytearray)
    bodies: dict[int, int] = field(default_factory=dict)

    def add(self, end: int, inside: _Inside, body: int = 0) -> None:
        if 0 < body < end:
            self.bodies[len(self.ends)] = body
        self.ends.append(end)
        self.inside.append(inside)

    def clip(self, stop: int) -> None:
        """Ends the last block at `stop`."""
        count = bisect_right(self.ends, stop - 1)
        self.ends[count:] = array("q", [stop])
        if self.bodies.get(count, 0) >= stop:
            del self.bodies[count]

    def body(self, index: int) -> int:
        """The offset behind which the block may be divided."""
        return self.bodies.get(index) or (self.ends[index - 1] if index else 0)


class _Reader(Protocol):
    """Reads a text, or one window of it after the other, into blocks. The first line of a window begins a block of
    the window even where it goes on with one of the window before."""

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> _Blocks:
        """`is_last`: nothing follows these lines."""

    def go_past(self, text: str) -> None:
        """The next window begins behind `text`, with which the last one began."""


def _reader(form: TextForm) -> _Reader:
    match form:
        case TextForm.JSONL:
            return _JsonlReader()
        case TextForm.LOG:
            return _LogReader()
        case TextForm.CSV:
            return _CsvReader()
        case TextForm.CODE:
            return _CodeReader()
        case TextForm.MARKDOWN | TextForm.PROSE:  # plain text has lists, tables and fences too
            return _MarkdownReader()


class _JsonlReader:
    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> _Blocks:
        return _Blocks(line_ends[:], bytearray(len(line_ends)))

    def go_past(self, text: str) -> None:
        """Every line is a record."""


def _starting_at(starts: Sequence[bool], line_ends: Sequence[int], inside: _Inside) -> _Blocks:
    """Blocks that begin at the lines whose flag is set; the first line begins one anyhow."""
    ends = array("q", (end for end, next_starts in zip(line_ends, starts[1:], strict=False) if next_starts))
    ends.append(line_ends[-1])
    return _Blocks(ends, bytearray([inside]) * len(ends))


_LEVEL = "TRACE DEBUG INFO INFORMATION NOTICE WARN WARNING ERROR ERR SEVERE CRITICAL CRIT FATAL ALERT EMERG"
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_ENTRY = re.compile(
    rf"""\ufeff?(?:\x1b\[[\d;]*m)*           # a byte order mark, colours
    (?:[\w.-]+[ ]+\|[ ]+)?                   # "web_1  | " of docker compose
    (?:<\d{{1,3}}>\d?[ ]?|-[ ])?             # the priority of syslog, the "no alert" of BGL
    [\[("]?(?:
      \d{{4}}([-/.])\d\d?\1\d\d?             # 2026-11-01
    | \d\d?[-/. ](?:\d\d?|{_MONTH})[-/. ]\d{{2,4}}[ :T,]+\d\d?:\d\d    # 01/Nov/2026:10:00, 17/06/09 20:10:40
    | \d\d[-.]\d\d[ ]\d\d?:\d\d:\d\d         # 03-17 16:13:38.811
    | \d\d?:\d\d:\d\d                        # 10:00:00
    | \d{{8}}[-T ]?\d\d?:?\d\d:?\d\d         # 20261101T100000, 20171223-22:15:29
    | \d{{6}}[ ]\d{{6}}\b                    # 081109 203615
    | \d{{10}}(?:\d{{3}}|[.]\d+)?\b(?!,)     # seconds or milliseconds since 1970
    | [ ]*\d+[.]\d{{6}}\][ ]                 # [    0.000000]
    | {_DAY}[ ,]+(?:{_MONTH}[ ]+\d|\d\d?[ ]{_MONTH})
    | {_MONTH}[ ]+\d\d?[ ,]+(?:\d{{4}}[ ,]+)?\d\d?:\d\d
    | [IWEFDV]\d{{4}}[ ]\d\d:\d\d            # I1101 10:00:00
    | (?:{_LEVEL.replace(" ", "|")})(?![\w.])
    | [\w.:-]+[ ]\S+[ ]\S+[ ]\[\d\d?/{_MONTH}/\d{{4}}:    # an access log: address, -, user, [time
    | (?:time|ts|timestamp|t|level|lvl)=["\w]
    | \{{.*\}}\s*$                           # a JSON line
    )""",
    re.VERBOSE,
)
_CONTINUATION = re.compile(
    r"\s|$|[}\])]|at \S+[ (]|\.\.\. \d+ |Caused by:|Suppressed:|Traceback |During handling of "
    r"|The above exception |(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b|goroutine \d|panic: "
)
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::|\s*$)")  # "ValueError: …", which ends a Python stack trace
_MARKED = 0.1  # the share of marked lines from which on a log's every entry is taken to bear a mark


class _LogReader:
    """In a log whose entries bear a mark (time, level, …), every line without one goes with the entry above; in any
    other, what looks like a continuation does, as a stack trace. A window of marked entries tells for all behind it."""

    def __init__(self) -> None:
        self.is_marked = False

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> _Blocks:
        marked = [_ENTRY.match(line) is not None for line in lines]
        if all(marked):
            self.is_marked = True
            return _starting_at(marked, line_ends, _Inside.NOWHERE)
        at_margin = [not _CONTINUATION.match(line) for line in lines]
        if self.is_marked or (any(marked) and sum(marked) >= _MARKED * sum(at_margin)):
            self.is_marked = True
            return _starting_at(marked, line_ends, _Inside.NOWHERE)
        return _starting_at(_unmarked_starts(lines, at_margin), line_ends, _Inside.NOWHERE)

    def go_past(self, text: str) -> None:
        """What a later window must know is known."""


def _unmarked_starts(lines: list[str], at_margin: list[bool]) -> list[bool]:
    if not any(at_margin):
        return [True] * len(lines)
    below = (line if line[:1].isspace() and line.strip() else "" for line in ("", *lines))
    return [
        starts and not (indented and _RAISED.match(line))
        for starts, indented, line in zip(at_margin, below, lines, strict=False)
    ]


class _CsvReader:
    """A CSV record begins where no quote is open, as a quoted field may hold line ends. If one stays open to the
    end (5" pipe), or through a quarter of a window, it is a stray one, and every line is taken for a record."""

    def __init__(self) -> None:
        self.in_quotes = self.is_stray = False

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> _Blocks:
        quotes = list(accumulate((line.count('"') for line in lines), initial=int(self.in_quotes)))
        starts = [before % 2 == 0 for before in quotes[:-1]]
        self.is_stray = quotes[-1] % 2 == 1 and (is_last or _last_start(starts, line_ends) < line_ends[-1] * 3 // 4)
        if self.is_stray:
            starts = [True] * len(lines)
        return _starting_at(starts, line_ends, _Inside.NOWHERE)

    def go_past(self, text: str) -> None:
        self.in_quotes = not self.is_stray and (text.count('"') + self.in_quotes) % 2 == 1


def _last_start(starts: Sequence[bool], line_ends: Sequence[int]) -> int:
    """The offset of the last line whose flag is set; 0 if none is."""
    last = next((index for index in range(len(starts) - 1, 0, -1) if starts[index]), 0)
    return line_ends[last - 1] if last else 0


class _CodeReader:
    """A block of code begins at the margin below a blank line, and not inside a string of several lines, as Python's
    are. If one stays open to the end, or through a quarter of a window, what looks like strings are none."""

    def __init__(self) -> None:
        self.in_string = self.is_stray = False

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> _Blocks:
        quotes = list(accumulate((_long_quotes(line) for line in lines), initial=int(self.in_string)))
        outside = [before % 2 == 0 for before in quotes[:-1]]
        self.is_stray = quotes[-1] % 2 == 1 and (is_last or _last_start(outside, line_ends) < line_ends[-1] * 3 // 4)
        at_margin = (bool(line) and not line[0].isspace() and line[0] not in "}])" for line in lines)
        starts = [starts and not above.strip() for starts, above in zip(at_margin, ("", *lines), strict=False)]
        if not self.is_stray:
            starts = [starts and is_outside for starts, is_outside in zip(starts, outside, strict=True)]
        return _starting_at(starts, line_ends, _Inside.DEFINITIONS)

    def go_past(self, text: str) -> None:
        self.in_string = not self.is_stray and (_long_quotes(text) + self.in_string) % 2 == 1


def _long_quotes(text: str) -> int:
    return text.count('"""') + text.count("'''")


_BLANK = re.compile(r"[\s>]*$")
_QUOTE = re.compile(r" {0,3}>")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,}|~{4,})\s*$")
_ITEM = re.compile(r"[\s>]*(?:[-*+•]|(\d{1,9})[.)])\s")
_DIRECTIVE = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|parsed-literal|math)::")  # reStructuredText's fence
_FENCE = re.compile(r"([\s>]*)(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_TABLE_RULE = re.compile(r"[\s>]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


class _MarkdownReader:
    """Reads Markdown line by line into blocks: a heading with what follows it, a paragraph, a list item, a
    table, a fenced block. A fence that isn't closed runs to the end of the text, or of its quotation."""

    def __init__(self) -> None:
        self.inside, self.body = _Inside.NOWHERE, 0
        self.begun_at: int | None = None  # the line at which the open block began; below 0 in a window before
        self.is_heading = self.is_table = self.in_list = self.in_directive = self.gap = self.quoted = False
        self.fence = ""  # what closes the open fence
        self.margin = ""  # with which every line of the open block of indented code begins
        self.in_line = False  # the window begins amid a line, which was read already

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> _Blocks:
        return copy(self)._read_all(lines, line_ends)

    def go_past(self, text: str) -> None:
        ends = _line_ends(text)
        self._read_all(_lines(text, ends), ends)
        self.in_line, self.body = not text.endswith("\n"), 0
        if self.begun_at is not None:
            self.begun_at -= len(ends)

    def _read_all(self, lines: list[str], line_ends: "array[int]") -> _Blocks:
        self.found = _Blocks()
        self.lines, self.line_ends = lines, line_ends
        for number in range(int(self.in_line), len(lines)):
            self._read(number, lines[number])
        self.found.add(line_ends[-1], self.inside, self.body)
        return self.found

    def _read(self, number: int, line: str) -> None:
        if self.fence and self.quoted and not _QUOTE.match(line):
            self.fence, self.gap = "", True
        if self.fence:
            self._read_fenced(line)
        elif _BLANK.match(line):
            self.gap, self.is_table = True, False
        else:
            self._read_open(number, line)
            self.gap = False

    def _read_fenced(self, line: str) -> None:
        bare = line.strip(" \t\r>" if self.quoted else " \t\r")
        if bare.startswith(self.fence) and not bare.strip(self.fence[0]):
            self.fence, self.gap = "", True  # whatever follows is a new block

    def _read_open(self, number: int, line: str) -> None:
        indented = line.startswith(("    ", "\t")) and not self.in_list
        if self.margin and line.startswith(self.margin):
            return  # blank lines do not end it
        if self._is_underline(number, line):
            self.is_heading, self.inside, self.body = True, _Inside.NOWHERE, 0
        elif not indented and (fence := _FENCE.match(line)):
            self._begin(number, _Inside.NOWHERE)
            self.fence, self.quoted = fence[2], ">" in fence[1]
        elif _HEADING.match(line):
            self._begin(number, _Inside.NOWHERE)
            self.is_heading, self.body = True, 0
        elif _DIRECTIVE.match(line):
            self._begin(number, _Inside.NOWHERE)
            self.is_heading, self.in_directive, self.body = True, True, 0
        elif self._is_table_head(number, line):
            self._begin(number, _Inside.LINES)
            self.is_table, self.body = True, self.line_ends[number + 1]
        elif self._is_item(line):
            self._begin(number, _Inside.SENTENCES)
            self.in_list = True
        elif self.gap or self.is_heading or self.begun_at is None:
            self.in_list = self.in_list and line[:1].isspace()
            is_code = indented or (self.in_directive and line[:1].isspace())
            code = _Inside.NOWHERE if self.in_directive else _Inside.LINES
            self._begin(number, code if is_code else _Inside.SENTENCES)
            self.margin = line[: len(line) - len(line.lstrip())] if is_code else ""

    def _is_underline(self, number: int, line: str) -> bool:
        """Whether the line makes a heading of the one above it; reStructuredText's ~~~~ is as long as it."""
        below_one_line = self.begun_at == number - 1 and self.inside is _Inside.SENTENCES and not self.gap
        if not number or not below_one_line or not _UNDERLINE.match(line):
            return False
        return "~" not in line or len(line.strip()) >= len(self.lines[number - 1].strip())

    def _is_table_head(self, number: int, line: str) -> bool:
        rule = self.lines[number + 1] if number + 1 < len(self.lines) else ""
        return not self.is_table and "|" in line and "|" in rule and _TABLE_RULE.match(rule) is not None

    def _is_item(self, line: str) -> bool:
        """A number other than 1 begins no list amid a paragraph: there it is "… in\n2026. We …"."""
        item = _ITEM.match(line)
        return item is not None and (item[1] in (None, "1") or self.gap or self.in_list or self.is_heading)

    def _begin(self, number: int, inside: _Inside) -> None:
        """Begins a block, or the body of the heading above."""
        start = self.line_ends[number - 1] if number else 0
        if self.is_heading:
            self.body = start
        elif self.begun_at is not None and start:
            self.found.add(start, self.inside, self.body)
            self.body = 0
        self.inside, self.begun_at = inside, number
        self.is_heading = self.is_table = self.in_directive = False
        self.margin = ""


# --- Boundaries, from coarse to fine


class _Boundaries(Protocol):
    """The places of one kind at which a text may be cut."""

    def last(self, after: int, room: int) -> int | None:
        """The last one past `after` and not past `room`."""

    def first(self, after: int) -> int:
        """The first one past `after`."""


_DEEPEST = 100  # characters of indentation that count


class _LineEnds:
    def __init__(self, ends: Sequence[int]) -> None:
        self.ends = ends

    def last(self, after: int, room: int) -> int | None:
        index = bisect_right(self.ends, room)
        return self.ends[index - 1] if index and self.ends[index - 1] > after else None

    def first(self, after: int) -> int:
        return self.ends[bisect_right(self.ends, after)]


class _DefinitionEnds(_LineEnds):
    """The ends of lines, and among them rather a blank line's than another's, and rather before little indentation:
    where a method ends, or a paragraph of statements."""

    def __init__(self, text: str, ends: Sequence[int]) -> None:
        super().__init__(ends)
        self.text = text

    def last(self, after: int, room: int) -> int | None:
        end = super().last(after, room)
        low, high = bisect_right(self.ends, (after + room) // 2), bisect_right(self.ends, room)
        breaks = [self.ends[line] for line in range(max(low, 1), high) if self._is_blank(line)]
        return min(breaks, key=lambda at: (self._indentation(at), -at)) if breaks else end

    def _is_blank(self, line: int) -> bool:
        return self.text[self.ends[line - 1] : self.ends[line]].isspace()

    def _indentation(self, at: int) -> int:
        line = self.text[at : at + _DEEPEST]
        return len(line) - len(line.lstrip())


# sentencex takes quadratic time outside ASCII, so it reads windows of a text. An end counts if the window
# shows what follows, since a quotation's close may be there; and if it shows what comes before, in a window
# that doesn't begin with a sentence.
_WINDOW, _AHEAD, _BEFORE = 2400, 400, 100
_SCRIPTS = {"ru": "Cyrillic", "el": "Greek", "hy": "Armenian"}
_LETTERS = {language: regex.compile(rf"\p{{{script}}}") for language, script in _SCRIPTS.items()}
_COMMON_WORDS = {
    "en": "the and of to is in that for with are",
    "de": "der die und das ist nicht mit ein zu auf",
    "fr": "le les des est et une dans pour du vous",
    "es": "el los las que una con para por y del",
    "it": "il che di per una con sono della gli non",
    "nl": "het een van en niet met zijn voor op te",
    "pl": "i w na się nie jest do że oraz dla",
    "pt": "o os um uma não com para em da do",
}
_WORDS = {language: frozenset(words.split()) for language, words in _COMMON_WORDS.items()}
# Thai and Lao put a space where others put a full stop; Khmer's and Tibetan's stops are unknown to sentencex.
_MORE_ENDS = regex.compile(r"(?V1)(?<=[\p{Thai}\p{Lao}--[ๆฯໆ]])[ \u00a0]+(?=[\p{Thai}\p{Lao}])|[។៕།༎]+\s*")


class _Sentences:
    """The ends of the sentences in `text[start:stop]`, looked for only as far as they are asked for. The last
    sentence ends at `stop`, behind the blank lines."""

    def __init__(self, text: str, start: int, stop: int) -> None:
        self.text, self.stop = text, stop
        self.text_end = start + len(text[start:stop].rstrip())
        self.window_at = self.seen_to = start
        self.ends: list[int] = []
        self.language = _language(text[start : min(stop, start + _WINDOW)])

    def last(self, after: int, room: int) -> int | None:
        while self.seen_to < min(room, self.text_end):
            self._look_on()
        index = bisect_right(self.ends, room)
        return self.ends[index - 1] if index and self.ends[index - 1] > after else None

    def first(self, after: int) -> int:
        while self.seen_to < self.text_end and (not self.ends or self.ends[-1] <= after):
            self._look_on()
        index = bisect_right(self.ends, after)
        return self.ends[index] if index < len(self.ends) else self.stop

    def _look_on(self) -> None:
        end = min(self.window_at + _WINDOW, self.text_end)
        sure_to = end if end == self.text_end else end - _AHEAD
        sure_from = self.window_at + (_BEFORE if self.window_at != self.seen_to else 0)
        found = [at for at in self._ends_within(self.window_at, end) if sure_from < at <= sure_to]
        self.ends += found
        self.seen_to = found[-1] if found and end < self.text_end else sure_to
        self.window_at = self.seen_to if found else sure_to - _BEFORE

    def _ends_within(self, start: int, end: int) -> list[int]:
        window = _for_sentencex(self.text[start:end])
        for mark in "\"'":
            if end < self.text_end and window.count(mark) % 2:  # it would take none of them for a quotation's
                opening = window.rfind(mark, len(window) - _AHEAD)
                window = window[:opening] if opening > 0 else window
        ends = _ends_in("en", window)
        if self.language != "en":
            ends &= _ends_in(self.language, window)  # both, since an English phrase may stand in any text
        if not window.isascii():
            stops = _MORE_ENDS.finditer(self.text, start, start + len(window))
            ends.update(stop.end() - start for stop in stops)
        return sorted(start + at for at in ends if 0 < at < len(window) and _may_end(self.text, start + at))


def _for_sentencex(text: str) -> str:
    """The text as long as before, without the lone surrogates that it doesn't bear, and without the line ends by
    which it guesses lists: a block is one list item at the most, and a wrapped line may begin with "2026."."""
    return text.encode("utf-8", "replace").decode().replace("\r", " ").replace("\n", " ")


def _ends_in(language: str, window: str) -> set[int]:
    ends: set[int] = set()
    at = 0
    for sentence in segment(language, window):
        at = max(at, window.find(sentence, at)) + len(sentence)  # it may leave out white space between two
        ends.add(at)
    return ends


_NUMBER = regex.compile(r"(?r)(?<![^\n])[\s>]*[\d.]+[.)]\s+")  # read backwards from what follows it


def _may_end(text: str, at: int) -> bool:
    """Whether a sentence can end here, which sentencex says more often: not in "example.Com", not behind the "5."
    that begins a paragraph, not in a character as people see it."""
    before, behind = text[at - 1], text[at]
    in_word = before.isascii() and behind.isascii() and not before.isspace() and not behind.isspace()
    recent = max(0, at - 64)
    return not in_word and not _NUMBER.match(text, recent, at) and _grapheme_start(text, recent, at) == at


def _language(text: str) -> str:
    """The language whose abbreviations to heed ("z. B.", "т. д."), guessed from script and common words."""
    for language, letter in _LETTERS.items():
        if not text.isascii() and len(letter.findall(text)) * 3 > len(text):
            return language
    words = text.lower().split()
    return max(_WORDS, key=lambda language: sum(word in _WORDS[language] for word in words))


class _LineSentences:
    """The ends of the sentences in one line, for a line that is over the cap alone."""

    def __init__(self, text: str, line_ends: Sequence[int]) -> None:
        self.text, self.line_ends = text, line_ends
        self.line, self.sentences = -1, _Sentences("", 0, 0)

    def last(self, after: int, room: int) -> int | None:
        return self._of_line(after).last(after, room)

    def first(self, after: int) -> int:
        return self._of_line(after).first(after)

    def _of_line(self, at: int) -> _Sentences:
        line = bisect_right(self.line_ends, at)
        if line != self.line:
            start = self.line_ends[line - 1] if line else 0
            self.line, self.sentences = line, _Sentences(self.text, start, self.line_ends[line])
        return self.sentences


class _BlockEnds:
    """The ends of blocks, and of the parts into which one may be divided under the cap: sentences, rows."""

    def __init__(self, text: str, blocks: _Blocks, line_ends: Sequence[int], by_lines: bool) -> None:
        self.text, self.blocks, self.by_lines = text, blocks, by_lines
        self.line_ends, self.definitions = _LineEnds(line_ends), _DefinitionEnds(text, line_ends)
        self.divided, self.sentences = -1, _Sentences("", 0, 0)

    def last(self, after: int, room: int) -> int | None:
        """Prefers a block's end in the last third of the room to a sentence's end behind it."""
        ends = self.blocks.ends
        block = bisect_right(ends, room)
        whole = ends[block - 1] if block and ends[block - 1] > after else None
        if block == len(ends) or (whole and (self.by_lines or (whole - after) * 3 >= (room - after) * 2)):
            return whole
        parts = self._parts(block)
        return (parts and parts.last(max(after, self.blocks.body(block)), room)) or whole

    def first(self, after: int) -> int:
        block = bisect_right(self.blocks.ends, after)
        end, parts = self.blocks.ends[block], self._parts(block)
        return min(parts.first(max(after, self.blocks.body(block))), end) if parts else end

    def _parts(self, block: int) -> _Boundaries | None:
        match self.blocks.inside[block]:
            case _Inside.LINES:
                return self.line_ends
            case _Inside.DEFINITIONS:
                return self.definitions
            case _Inside.SENTENCES:
                if block != self.divided:
                    start, end = self.blocks.body(block), self.blocks.ends[block]
                    self.divided, self.sentences = block, _Sentences(self.text, start, end)
                return self.sentences
        return None


_WORD_END = r"(?<=\s)(?=[^\s\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}])"
_NEXT_WORD_END, _LAST_WORD_END = regex.compile(_WORD_END), regex.compile("(?r)" + _WORD_END)
_GRAPHEME = regex.compile(r"\X")
_PLAIN = r"[\p{GCB=Other}--\p{ExtPict}]"  # between two of these a grapheme ends, whatever stands around them
_LAST_PLAIN_PAIR = regex.compile(rf"(?V1)(?r){_PLAIN}(?={_PLAIN})")


class _Words:
    def __init__(self, text: str, stop: int) -> None:
        self.text, self.stop = text, stop

    def last(self, after: int, room: int) -> int | None:
        match = _LAST_WORD_END.search(self.text, after + 1, min(room + 1, self.stop))
        return match.start() if match else None

    def first(self, after: int) -> int:
        match = _NEXT_WORD_END.search(self.text, after + 1, self.stop)
        return match.start() if match else self.stop


class _Graphemes:
    """Characters as people see them: a family emoji, a letter with its accents, "\r\n"."""

    def __init__(self, text: str, stop: int) -> None:
        self.text, self.stop = text, stop

    def last(self, after: int, room: int) -> int | None:
        at = _grapheme_start(self.text, after, room)
        return at if at > after else None

    def first(self, after: int) -> int:
        match = _GRAPHEME.match(self.text, after, self.stop)
        return match.end() if match else self.stop


def _grapheme_start(text: str, after: int, at: int) -> int:
    """The last offset up to `at` that is not inside a grapheme of `text[after:]`."""
    pair = text[at - 1 : at + 1]
    if pair.isascii():
        return at if pair != "\r\n" else at - 1
    plain = _LAST_PLAIN_PAIR.search(text, after, at)  # so as not to read from `after` for every cut
    starts = [match.start() for match in _GRAPHEME.finditer(text, plain.end() if plain else after, at + 1)]
    return starts[-1] if starts else at


class _CodePoints:
    """The last resort: one grapheme may be a megabyte of accents, and the cap holds for it too."""

    def __init__(self, text: str) -> None:
        self.text = text

    def last(self, after: int, room: int) -> int | None:
        at = room - (self.text[room - 1 : room + 1] == "\r\n")
        return at if at > after else None

    def first(self, after: int) -> int:
        return after + 1 + (self.text[after : after + 2] == "\r\n")


# --- Cutting

_FILL = 0.97  # of the cap is aimed at, since weight isn't quite proportional to length
_ENOUGH = 0.85  # of the cap is well filled


class _Cutter:
    """Cuts `text[start:stop]` from front to back, each chunk as long as it may be.

    Weighing is what takes time. So a chunk is weighed whole, shortened in proportion if it is over the cap,
    and how far the next one may reach is foretold from the last one's weight.
    """

    def __init__(
        self,
        text: str,
        form: TextForm,
        blocks: _Blocks,
        line_ends: "array[int]",
        limits: Limits,
        start: int,
        stop: int,
        density: float = 0.0,
    ) -> None:
        self.text, self.limits, self.start, self.stop = text, limits, start, stop
        self.by_lines, self.line_ends = form in LINE_CONTENT, line_ends
        self.blocks = blocks
        self.blocks.clip(stop)
        self.levels: tuple[_Boundaries, ...] = (
            _BlockEnds(text, self.blocks, line_ends, self.by_lines),
            _LineEnds(line_ends),
            _LineSentences(text, line_ends),
            _Words(text, stop),
            _Graphemes(text, stop),
            _CodePoints(text),
        )
        # For each level, where the last unit ends that was over the cap alone: in it, finer cuts are right.
        self.over_cap_to = [0] * len(self.levels)
        self.density = density  # weight per character of what was weighed last

    def cuts(self, until: int) -> list[int]:
        """The ends of all chunks that begin before `until`, behind the start of the first."""
        cuts = [self.start]
        while cuts[-1] < until:
            cuts.append(self._chunk_end(cuts[-1]))
        return cuts

    def _chunk_end(self, start: int) -> int:
        """Where the chunk at `start` ends: where its budget wishes, or before, to stay under the cap."""
        budget = self._budget_end(start)
        wish = self._boundary(start, budget, self.stop + 1) or self.stop
        end: int | None = self._foretold(start, wish)
        fits, over, tries = start, self.stop + 1, 0  # the longest that fits, the shortest that doesn't
        while end is not None and end > fits:
            tries += 1
            if self._is_over(start, end):
                over = end
            else:
                fits = end
                if end == wish or tries > 4 or self._is_well_filled(end - start, wish - start):
                    return end
            room = min(self._filled(start, wish), budget, over - 1)
            end = self._boundary(start, max(start + 1, room), over)
        return fits if fits > start else over

    def _is_well_filled(self, length: int, wished: int) -> bool:
        full = length * self.density >= self.limits.cap * _ENOUGH
        return full and wished * self.density > self.limits.cap

    def _foretold(self, start: int, wish: int) -> int:
        """The first candidate: what is wished, or less if that is over the cap by the density seen last."""
        return self._boundary(start, self._filled(start, wish), wish + 1) or wish

    def _filled(self, start: int, wish: int) -> int:
        """How far the cap reaches, at the most to `wish`, by the density seen last."""
        if (wish - start) * self.density <= self.limits.cap:
            return wish
        return start + max(1, int(self.limits.cap * _FILL / self.density))

    def _is_over(self, start: int, end: int) -> bool:
        """Whether this piece is over the cap; a very long one is weighed only as far as it takes to see."""
        length = 8 * self.limits.cap
        while True:
            piece = self.text[start : min(start + length, end)]
            weight = max(1, self.limits.weigh(piece))
            self.density = weight / len(piece)
            if weight > self.limits.cap or start + length >= end:
                return weight > self.limits.cap
            length *= 2

    def _boundary(self, start: int, room: int, over: int) -> int | None:
        """Where to end a chunk: within `room`, or past it with the first unit, if that may be under the cap.

        On the coarsest level that allows it: on a finer one only in a unit that reaches to `over`, the end of
        what was weighed and is over the cap. None if nothing is shorter than that.
        """
        if over == start + 1:
            return None
        body = self.blocks.body(bisect_right(self.blocks.ends, start))
        floor = body if start < body < room else start
        for number, level in enumerate(self.levels):
            end = level.last(floor, room)
            if end is not None:
                return end
            if start < self.over_cap_to[number]:
                continue
            unit_end = level.first(floor)
            if unit_end < over:
                return unit_end
            if start < body < over and not self._is_over(body, unit_end):
                return body  # a head so long that its body, which must stay whole, fits only without it
            self.over_cap_to[number] = unit_end
        return None

    def _budget_end(self, start: int) -> int:
        if self.by_lines:
            line = bisect_right(self.line_ends, start) + self.limits.lines - 1
            return min(self.line_ends[min(line, len(self.line_ends) - 1)], self.stop)
        return start + self._length_of_tokens(start)

    def _length_of_tokens(self, start: int) -> int:
        """How many characters fit into the budget: nearly the most, and at least one."""
        tokens, rest, fits = self.limits.tokens, self.stop - start, 1
        length = min(4 * tokens, rest)
        for _ in range(8):
            measured = self.limits.measure(self.text[start : start + length])
            if measured <= tokens:
                fits = max(fits, length)
                if length == rest or measured >= 0.95 * tokens:
                    break
            length = max(1, min(rest, length * tokens // max(1, measured)))
        return fits
