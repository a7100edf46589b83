"""The size of a picture is read from its header, and its tokens follow from its size."""

import pytest

from context_protection.core.pictures import Size, size_of

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big")
GIF = b"GIF89a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")
APP0 = b"\xff\xe0\x00\x10JFIF\x00" + bytes(9)
FRAME = b"\xff\xc2\x00\x11\x08" + (480).to_bytes(2, "big") + (640).to_bytes(2, "big") + bytes(9)
JPEG = b"\xff\xd8" + APP0 + b"\xff\xff" + FRAME[1:]
RIFF = b"RIFF\x00\x00\x00\x00WEBP"
LOSSY = (
    RIFF + b"VP8 " + bytes(4) + b"\x30\x01\x00\x9d\x01\x2a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")
)
LOSSLESS = RIFF + b"VP8L" + bytes(4) + b"\x2f" + (639 | 479 << 14).to_bytes(4, "little") + bytes(8)
EXTENDED = RIFF + b"VP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, LOSSY, LOSSLESS, EXTENDED])
def test_the_size_stands_in_the_header(data: bytes):
    assert size_of(data) == Size(640, 480)


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, LOSSY, LOSSLESS, EXTENDED])
def test_a_header_that_ends_early_has_no_size(data: bytes):
    for end in range(len(data)):
        assert size_of(data[:end]) in (None, Size(640, 480))


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"RIFF" + bytes(40), b"\xff\xd8" + bytes(40), PNG[:16] + bytes(8)])
def test_what_is_no_picture_has_no_size(data: bytes):
    assert size_of(data) is None


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        (Size(1, 1), 1),
        (Size(200, 200), 54),
        (Size(1000, 1000), 1334),
        (Size(1092, 1092), 1590),
        (Size(4000, 3000), 1600),
        (Size(8000, 100), 41),  # scaled down to 1568 x 20 pixels
    ],
)
def test_tokens_follow_from_the_size(size: Size, tokens: int):
    assert size.tokens == tokens
