"""Texts stored as pieces in the database, so that any range of even a very long text is read by primary key."""

import zlib
from collections.abc import Iterable, Iterator

from django.db import transaction

from context_protection.core.payloads import Piece
from gateway.connectors.hostaway.models import DocumentContent, TextPiece

CHARS = TextPiece.CHARS
WRITTEN_AT_ONCE = 64  # pieces per transaction, during which other writers wait
READ_AT_ONCE = 16  # pieces in memory at a time
LONG_LINE = 1 << 20  # characters; longer lines are returned in parts

# -- Writing ----------------------------------------------------------------------------------------


def write(digest: str, parts: Iterable[str]) -> Iterator[int]:
    """Stores a text given in parts of any length, and yields the number of characters stored so far. It overwrites the
    pieces of an interrupted load. Once all pieces are stored, it marks the content as loaded."""
    batch: list[TextPiece] = []
    line, number = 1, 0
    for number, text in enumerate(_pieces(parts), start=1):
        data = zlib.compress(text.encode(), 1)
        batch.append(TextPiece(content_id=digest, number=number - 1, first_line=line, data=data))
        line += text.count("\n")
        if len(batch) == WRITTEN_AT_ONCE:
            _store(digest, batch)
            batch = []
            yield number * CHARS
    _store(digest, batch)
    TextPiece.objects.filter(content_id=digest, number__gte=number).delete()
    DocumentContent.objects.filter(digest=digest).update(is_loaded=True)


def _pieces(parts: Iterable[str]) -> Iterator[str]:
    rest = ""
    for part in parts:
        rest += part
        whole = len(rest) // CHARS * CHARS
        yield from (rest[at : at + CHARS] for at in range(0, whole, CHARS))
        rest = rest[whole:]
    if rest:
        yield rest


def _store(digest: str, batch: list[TextPiece]) -> None:
    with transaction.atomic():
        # If another process has stored the whole text, nothing is left to do.
        if not DocumentContent.objects.filter(digest=digest, is_loaded=True).exists():
            TextPiece.objects.bulk_create(
                batch,
                update_conflicts=True,
                unique_fields=["content", "number"],
                update_fields=["first_line", "data"],
            )


# -- Reading ----------------------------------------------------------------------------------------


def read(digest: str, start: int, end: int) -> str | None:
    """The characters from `start` up to `end` or the end of the text; None if the text is no longer stored."""
    first, last = start // CHARS, max(start, end - 1) // CHARS
    text = _text(digest, first, last)
    if not text and not DocumentContent.objects.filter(digest=digest, is_loaded=True).exists():
        return None
    return text[start - first * CHARS : max(start, end) - first * CHARS]


def _text(digest: str, first: int, last: int) -> str:
    """The joined pieces from number `first` to `last`."""
    pieces = TextPiece.objects.filter(content_id=digest, number__range=(first, last)).order_by("number")
    return "".join(_unpacked(data) for data in pieces.values_list("data", flat=True))


def _unpacked(data: bytes | memoryview) -> str:
    return zlib.decompress(data).decode()


def parts(digest: str, start: int = 0) -> Iterator[str]:
    """The text from character `start` on, with READ_AT_ONCE pieces in memory; empty if the text is no longer stored."""
    first, skipped = divmod(start, CHARS)
    while text := _text(digest, first, first + READ_AT_ONCE - 1):
        yield text[skipped:]
        first, skipped = first + READ_AT_ONCE, 0


def in_whole_lines(digest: str, first_line: int = 1) -> Iterator[Piece]:
    """The text from line `first_line` on, in pieces of whole lines. Only lines of at least `LONG_LINE` characters are
    split."""
    line, start, rest = first_line, line_start(digest, first_line), ""
    for part in parts(digest, start):
        rest += part
        end = rest.rfind("\n") + 1 or (len(rest) if len(rest) >= LONG_LINE else 0)
        if end:
            yield Piece(line, start, rest[:end])
            line, start, rest = line + rest.count("\n", 0, end), start + end, rest[end:]
    if rest:
        yield Piece(line, start, rest)


def line_start(digest: str, line: int) -> int:
    """The position of a line's first character; the text's length if there is no such line."""
    pieces = TextPiece.objects.filter(content_id=digest, first_line__lt=line).order_by("-first_line", "-number")
    found = pieces.values_list("number", "first_line", "data").first()
    if found is None:
        return 0
    number, first_line, data = found
    text = _unpacked(data)
    *before, behind = text.split("\n", line - first_line)
    return int(number) * CHARS + len(text) - (len(behind) if len(before) == line - first_line else 0)
