"""Decodes files: detects their encoding, and reads their characters block by block in constant memory."""

import codecs
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from gateway.connectors.hostaway.text_redaction import redacted_parts

BLOCK = 1 << 20  # bytes
SAMPLE = 1 << 16  # bytes that an encoding is guessed from
UTF_8 = "utf-8"
# If several encodings fit equally well, the most common one is chosen. Files in the Unicode encodings of
# `_NOT_GUESSED` normally begin with a byte order mark.
_COMMON = ("cp1252", "cp1251", "cp1250", "cp932", "gb18030", "big5", "cp949")
_NOT_GUESSED = ["utf_7", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"]
# UTF-8's byte order mark is absent here: it stays in the text as its first character. UTF-32 comes before UTF-16,
# because both little-endian marks begin with the same bytes.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class NotText(ValueError):
    """The file is not text in this encoding. `at`: the approximate position of an invalid byte."""

    def __init__(self, at: int) -> None:
        super().__init__(f"This is not text: see byte {at}.")
        self.at = at


class FileChanged(ValueError):
    """The file has changed since it was first read."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file on disk or in memory. Bytes appended beyond `size` are not read."""

    place: Path | bytes
    size: int

    @classmethod
    def of(cls, place: Path | bytes) -> "FileSource":
        """Raises OSError."""
        return cls(place, len(place) if isinstance(place, bytes) else place.stat().st_size)

    def open(self) -> BinaryIO:
        return BytesIO(self.place) if isinstance(self.place, bytes) else self.place.open("rb")

    def blocks(self) -> Iterator[bytes]:
        with self.open() as file:
            left = self.size
            while left and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                yield block

    def sample(self, at: int) -> bytes:
        """The bytes around position `at`, in whole lines unless the lines are long."""
        with self.open() as file:
            file.seek(start := max(0, at - SAMPLE // 4))
            before, behind = file.read(at - start), file.read(SAMPLE)
        if start:
            before = before[before.rfind(b"\n") + 1 :]
        if at + SAMPLE < self.size:
            behind = behind[: behind.rfind(b"\n") + 1] or behind
        return before + behind


@dataclass(frozen=True, slots=True)
class Figures:
    """The size and digest of a text whose secrets are masked. `digest`: hexadecimal SHA-256 of its UTF-8. `bytes`: its
    size in UTF-8. `encoding`: the encoding of the file."""

    encoding: str
    digest: str
    chars: int
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class File:
    """The result of reading a whole file. `figures` is None if the file is not text: it contains NUL, or no encoding
    fits."""

    source: FileSource
    sha256: str
    figures: Figures | None


def read_file(place: Path | bytes) -> File:
    """Reads the whole file, once for its digest and once for each encoding tried. Raises OSError."""
    source = FileSource.of(place)
    sha256 = hashlib.sha256()
    for block in source.blocks():
        sha256.update(block)
    return File(source, sha256.hexdigest(), _figures(source))


def _figures(source: FileSource) -> Figures | None:
    """Decodes in the encoding of the byte order mark, or else in UTF-8. If the bytes are not UTF-8, guesses the
    encoding from those around the first invalid one."""
    head = source.sample(0)
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), UTF_8)
    try:
        return _read_through(source, encoding)
    except NotText as error:
        sample = source.sample(error.at)
    guess = _guessed(sample) if encoding == UTF_8 and b"\0" not in sample else None
    try:
        return _read_through(source, guess) if guess else None
    except NotText:
        return None


def _guessed(sample: bytes) -> str | None:
    import charset_normalizer  # loaded only when needed: it takes 3 MB of memory

    matches = list(charset_normalizer.from_bytes(sample, cp_exclusion=_NOT_GUESSED, enable_fallback=False))
    if not matches:
        return None
    best = [match for match in matches if match.chaos <= matches[0].chaos]
    names = {name for match in best for name in (match.encoding, *match.could_be_from_charset)}
    return next((name for name in _COMMON if name in names), matches[0].encoding)


def _read_through(source: FileSource, encoding: str) -> Figures:
    digest, chars, breaks, size, end = hashlib.sha256(), 0, 0, 0, "\n"
    for text in redacted_parts(decoded(source, encoding)):
        data = text.encode()
        digest.update(data)
        chars, breaks, size, end = chars + len(text), breaks + text.count("\n"), size + len(data), text[-1]
    return Figures(encoding, digest.hexdigest(), chars, breaks + (end != "\n"), size)


def decoded_again(file: File, figures: Figures) -> Iterator[str]:
    """Decodes a file again. Raises FileChanged, at the latest after the last part, if the text has changed since."""
    digest = hashlib.sha256()
    try:
        for text in redacted_parts(decoded(file.source, figures.encoding)):
            digest.update(text.encode())
            yield text
    except NotText:
        raise FileChanged from None
    if digest.hexdigest() != figures.digest:
        raise FileChanged


def decoded(source: FileSource, encoding: str) -> Iterator[str]:
    """The file's text in non-empty parts. Raises NotText."""
    decoder = codecs.getincrementaldecoder(encoding)()
    at = 0
    for block in source.blocks():
        text = _decoded(decoder, block, at)
        if text:
            yield text
        at += len(block)
    if rest := _decoded(decoder, b"", at, final=True):
        yield rest


def _decoded(decoder: codecs.IncrementalDecoder, block: bytes, at: int, *, final: bool = False) -> str:
    try:
        text = decoder.decode(block, final)
    except UnicodeError as error:
        raise NotText(at + getattr(error, "start", 0)) from None
    if "\0" in text:
        raise NotText(at)
    return text
