"""The tokens of a picture, by the provider's published formula, and the picture's size, read from its header.

The formula is tokens = width * height / 750 (https://platform.claude.com/docs/en/build-with-claude/vision, "Calculate
image costs"). A picture whose long edge exceeds 1,568 pixels, or that would cost more than about 1,600 tokens, is
scaled down first, and keeps its aspect ratio.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

LONGEST_EDGE = 1568  # pixels
PIXELS_A_TOKEN = 750
MAX_TOKENS = 1600
# JPEG markers that carry the picture's size: all "start of frame" markers (not 0xC4, 0xC8 and 0xCC).
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})  # JPEG markers that stand alone


@dataclass(frozen=True, slots=True)
class Size:
    """Pixels."""

    width: int
    height: int

    @property
    def tokens(self) -> int:
        """The tokens of a picture of this size."""
        scale = min(1.0, LONGEST_EDGE / max(self.width, self.height))
        return max(1, min(MAX_TOKENS, math.ceil(self.width * self.height * scale * scale / PIXELS_A_TOKEN)))


def size_of(data: bytes) -> Size | None:
    """The size of a PNG, JPEG, GIF or WebP picture. None for anything else, and for a damaged header."""
    for signature, read in _READERS.items():
        if data.startswith(signature):
            size = read(data)
            return size if size is not None and size.width > 0 and size.height > 0 else None
    return None


def _png(data: bytes) -> Size | None:
    return _big_endian(data, 16, 4) if data[12:16] == b"IHDR" and len(data) >= 24 else None


def _gif(data: bytes) -> Size | None:
    return _little_endian(data, 6, 2) if len(data) >= 10 else None


def _jpeg(data: bytes) -> Size | None:
    """Follows the segments to the first frame."""
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker in _FRAMES:
            size = _big_endian(data, position + 5, 2)
            return Size(size.height, size.width)  # the height comes first
        if marker == 0xFF:  # padding
            position += 1
        else:
            position += 2 if marker in _WITHOUT_LENGTH else 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return None


def _webp(data: bytes) -> Size | None:
    """The three forms of WebP: lossy (VP8), lossless (VP8L), extended (VP8X)."""
    if data[8:12] != b"WEBP" or len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8 ":
            size = _little_endian(data, 26, 2)
            return Size(size.width & 0x3FFF, size.height & 0x3FFF)
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            size = _little_endian(data, 24, 3)
            return Size(size.width + 1, size.height + 1)
        case _:
            return None


def _big_endian(data: bytes, start: int, bytes_each: int) -> Size:
    middle = start + bytes_each
    return Size(int.from_bytes(data[start:middle], "big"), int.from_bytes(data[middle : middle + bytes_each], "big"))


def _little_endian(data: bytes, start: int, bytes_each: int) -> Size:
    middle = start + bytes_each
    return Size(
        int.from_bytes(data[start:middle], "little"), int.from_bytes(data[middle : middle + bytes_each], "little")
    )


_READERS: dict[bytes, Callable[[bytes], Size | None]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"\xff\xd8": _jpeg,
    b"GIF87a": _gif,
    b"GIF89a": _gif,
    b"RIFF": _webp,
}
