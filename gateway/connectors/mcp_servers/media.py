"""Pictures, sounds and other files in a tool's result: which are passed on as content, and which become links."""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Any

import mcp.types as types

from context_protection.core import pictures
from context_protection.core.cursors import SnapshotOrigin, Snapshots
from context_protection.core.stored_files import StoredFile
from gateway.connectors.mcp_servers.sanitizer import cleaned
from gateway.dispatch.hints import file_address

LARGEST_PICTURE = 5 * 2**20  # bytes, decoded
LARGEST_SOUND = 2**20  # bytes, decoded
SOUND_TOKENS = 100  # assumed: Claude hears no sounds, so a client sends a note, and no formula is published
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # media types that Claude sees
NAME_CHARS = 80
NOT_BASE64 = "not valid base64"

Link = types.ResourceLink


@dataclass(frozen=True)
class Medium:
    """The binary content of a block. `tokens`: its cost as content of an answer; None if it must become a link.
    `defect`: how the content differs from what the block declares. Content that is not base64 becomes a text file."""

    block: types.ContentBlock
    kind: str
    media_type: str
    data: bytes
    tokens: int | None = None
    size: pictures.Size | None = None
    defect: str = ""

    def link(self, origin: SnapshotOrigin, snapshots: Snapshots) -> Link | None:
        """Stores the file, and returns a link to it. None if the store is unavailable."""
        stored = StoredFile(self.media_type, self.data).store(origin, snapshots)
        if not stored.is_stored:
            return None
        return Link(
            type="resource_link",
            name=self.name,
            uri=file_address(stored.id),
            description=self.description,
            mime_type=self.media_type,
            size=len(self.data),
        )

    @property
    def is_decoded(self) -> bool:
        return self.defect != NOT_BASE64

    @property
    def name(self) -> str:
        if isinstance(self.block, types.EmbeddedResource):
            return cleaned(str(self.block.resource.uri).rstrip("/").rpartition("/")[2], NAME_CHARS) or self.kind
        return self.kind

    @property
    def description(self) -> str:
        pixels = f"{self.size.width} x {self.size.height} pixels, " if self.size else ""
        defect = f"{self.defect}, " if self.defect else ""
        return f"{defect}{pixels}{len(self.data):,} bytes; resources/read returns it"

    def described(self, document: dict[str, Any], link: Link | None) -> dict[str, Any]:
        """The block as JSON with facts about its content, and a link to it, in place of the content."""
        pixels = {"width": self.size.width, "height": self.size.height} if self.size else {}
        facts = {**digest(self.data), **pixels, **({"defect": self.defect} if self.defect else {})}
        return {**facts, **({"link": link.uri} if link else {}), **_without_data(document)}


def is_binary(block: types.ContentBlock) -> bool:
    if isinstance(block, types.EmbeddedResource):
        return isinstance(block.resource, types.BlobResourceContents)
    return isinstance(block, (types.ImageContent, types.AudioContent))


def medium_of(block: types.ContentBlock) -> Medium | None:
    """The block's binary content. None for other blocks."""
    match block:
        case types.ImageContent():
            data = decoded(block.data)
            return _undecoded(block, "image", block.data) if data is None else _picture(block, data)
        case types.AudioContent():
            data = decoded(block.data)
            return _undecoded(block, "audio", block.data) if data is None else _sound(block, data)
        case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
            data, media_type = decoded(resource.blob), resource.mime_type or "application/octet-stream"
            return _undecoded(block, "file", resource.blob) if data is None else Medium(block, "file", media_type, data)
    return None


def _picture(block: types.ImageContent, data: bytes) -> Medium:
    """Clients fail on invalid pictures, so these become links."""
    size = pictures.size_of(data)
    passes = size is not None and block.mime_type in PICTURES and len(data) <= LARGEST_PICTURE
    defect = "not a valid picture" if size is None and block.mime_type in PICTURES else ""
    return Medium(block, "image", block.mime_type, data, size.tokens if size and passes else None, size, defect)


def _sound(block: types.AudioContent, data: bytes) -> Medium:
    tokens = SOUND_TOKENS if len(data) <= LARGEST_SOUND else None
    return Medium(block, "audio", block.mime_type, data, tokens)


def _undecoded(block: types.ContentBlock, kind: str, text: str) -> Medium:
    return Medium(block, kind, "text/plain", text.encode("utf-8", "replace"), defect=NOT_BASE64)


def decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def digest(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _without_data(document: dict[str, Any]) -> dict[str, Any]:
    inner = document.get("resource")
    if isinstance(inner, dict):
        return {**document, "resource": {name: each for name, each in inner.items() if name != "blob"}}
    return {name: each for name, each in document.items() if name != "data"}
