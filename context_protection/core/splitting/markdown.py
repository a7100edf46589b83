"""Blocks of Markdown and of plain text, which may contain lists, tables and fences too."""

import re
from array import array
from copy import copy

from context_protection.core.splitting.blocks import Blocks, Inside
from context_protection.core.splitting.lines import find_line_ends, split_lines

_BLANK = re.compile(r"[\s>]*$")
_QUOTE = re.compile(r" {0,3}>")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,}|~{4,})\s*$")
_ITEM = re.compile(r"[\s>]*(?:[-*+•]|(\d{1,9})[.)])\s")
_DIRECTIVE = re.compile(r"\s*\.\. (?:code|code-block|sourcecode|parsed-literal|math)::")  # reStructuredText's fence
FENCE = re.compile(r"([\s>]*)(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_TABLE_RULE = re.compile(r"[\s>]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


class MarkdownReader:
    """Reads Markdown line by line into blocks: a heading with the block below it, a paragraph, a list item, a table, a
    fenced block. An unclosed fence runs to the end of the text or of its quotation."""

    def __init__(self) -> None:
        self.inside, self.body = Inside.NOWHERE, 0
        self.begun_at: int | None = None  # the line at which the open block began; negative if in an earlier window
        self.is_heading = self.is_table = self.in_list = self.in_directive = self.gap = self.quoted = False
        self.fence = ""  # the marker that closes the open fence
        self.margin = ""  # the indentation of every line of the open block of indented code
        self.in_line = False  # the window begins inside a line that was already read

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> Blocks:
        return copy(self)._read_all(lines, line_ends)

    def go_past(self, text: str) -> None:
        ends = find_line_ends(text)
        self._read_all(split_lines(text, ends), ends)
        self.in_line, self.body = not text.endswith("\n"), 0
        if self.begun_at is not None:
            self.begun_at -= len(ends)

    def _read_all(self, lines: list[str], line_ends: "array[int]") -> Blocks:
        self.found = Blocks()
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
            self.fence, self.gap = "", True  # the next line begins a new block

    def _read_open(self, number: int, line: str) -> None:
        indented = line.startswith(("    ", "\t")) and not self.in_list
        if self.margin and line.startswith(self.margin):
            return  # blank lines do not end indented code
        if self._is_underline(number, line):
            self.is_heading, self.inside, self.body = True, Inside.NOWHERE, 0
        elif not indented and (fence := FENCE.match(line)):
            self._begin(number, Inside.NOWHERE)
            self.fence, self.quoted = fence[2], ">" in fence[1]
        elif _HEADING.match(line):
            self._begin(number, Inside.NOWHERE)
            self.is_heading, self.body = True, 0
        elif _DIRECTIVE.match(line):
            self._begin(number, Inside.NOWHERE)
            self.is_heading, self.in_directive, self.body = True, True, 0
        elif self._is_table_head(number, line):
            self._begin(number, Inside.LINES)
            self.is_table, self.body = True, self.line_ends[number + 1]
        elif self._is_item(line):
            self._begin(number, Inside.SENTENCES)
            self.in_list = True
        elif self.gap or self.is_heading or self.begun_at is None:
            self.in_list = self.in_list and line[:1].isspace()
            is_code = indented or (self.in_directive and line[:1].isspace())
            code = Inside.NOWHERE if self.in_directive else Inside.LINES
            self._begin(number, code if is_code else Inside.SENTENCES)
            self.margin = line[: len(line) - len(line.lstrip())] if is_code else ""

    def _is_underline(self, number: int, line: str) -> bool:
        """Whether the line turns the line above into a heading. ~~~~ (reStructuredText) must not be shorter."""
        below_one_line = self.begun_at == number - 1 and self.inside is Inside.SENTENCES and not self.gap
        if not number or not below_one_line or not _UNDERLINE.match(line):
            return False
        return "~" not in line or len(line.strip()) >= len(self.lines[number - 1].strip())

    def _is_table_head(self, number: int, line: str) -> bool:
        rule = self.lines[number + 1] if number + 1 < len(self.lines) else ""
        return not self.is_table and "|" in line and "|" in rule and _TABLE_RULE.match(rule) is not None

    def _is_item(self, line: str) -> bool:
        """Whether the line begins a list item. In a paragraph, only the number 1 does, unlike "… in\n2026. We …"."""
        item = _ITEM.match(line)
        return item is not None and (item[1] in (None, "1") or self.gap or self.in_list or self.is_heading)

    def _begin(self, number: int, inside: Inside) -> None:
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
