"""Log entries: a line with a timestamp or a level, and the lines that belong to it."""

import re
from array import array

from context_protection.core.splitting.blocks import Blocks, Inside, starting_at

_LEVEL = "TRACE DEBUG INFO INFORMATION NOTICE WARN WARNING ERROR ERR SEVERE CRITICAL CRIT FATAL ALERT EMERG"
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
ENTRY = re.compile(
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
CONTINUATION = re.compile(
    r"\s|$|[}\])]|at \S+[ (]|\.\.\. \d+ |Caused by:|Suppressed:|Traceback |During handling of "
    r"|The above exception |(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b|goroutine \d|panic: "
)
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::|\s*$)")  # "ValueError: …", which ends a Python stack trace
MARKED_SHARE = 0.1  # if at least this share of lines at the margin has a mark, every entry is assumed to have one


class LogReader:
    """Reads the entries of a log. If entries have a mark (timestamp, level, …), every line without one belongs to the
    entry above. In other logs, only lines that look like a continuation do, such as a stack trace. Once a window has
    marked entries, all later windows are read as marked."""

    def __init__(self) -> None:
        self.is_marked = False

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> Blocks:
        marked = [ENTRY.match(line) is not None for line in lines]
        if all(marked):
            self.is_marked = True
            return starting_at(marked, line_ends, Inside.NOWHERE)
        at_margin = [not CONTINUATION.match(line) for line in lines]
        if self.is_marked or (any(marked) and sum(marked) >= MARKED_SHARE * sum(at_margin)):
            self.is_marked = True
            return starting_at(marked, line_ends, Inside.NOWHERE)
        return starting_at(_unmarked_starts(lines, at_margin), line_ends, Inside.NOWHERE)

    def go_past(self, text: str) -> None:
        """`is_marked` is the only state that later windows need."""


def _unmarked_starts(lines: list[str], at_margin: list[bool]) -> list[bool]:
    if not any(at_margin):
        return [True] * len(lines)
    below = (line if line[:1].isspace() and line.strip() else "" for line in ("", *lines))
    return [
        starts and not (indented and _RAISED.match(line))
        for starts, indented, line in zip(at_margin, below, lines, strict=False)
    ]
