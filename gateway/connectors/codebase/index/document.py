"""A file as the index stores it. Creating a document takes longer than writing it, and needs no store."""

import hashlib
import zlib
from dataclasses import dataclass

from gateway.connectors.codebase.index.grams import signature_of
from gateway.connectors.codebase.index.passages import passages_of
from gateway.connectors.codebase.index.symbols import Symbol, symbols_of
from gateway.connectors.codebase.index.terms import length_of, terms_of

LARGEST_READ = 1_000_000  # bytes of a file that are indexed


@dataclass(frozen=True, slots=True)
class FileTerms:
    """Terms joined by spaces. `passages`: the terms of each passage, in order."""

    path: str
    symbols: str
    passages: tuple[str, ...]

    @property
    def body(self) -> str:
        return "\n".join(self.passages)

    def packed(self) -> bytes:
        return zlib.compress("\n".join((self.path, self.symbols, *self.passages)).encode(), 1)

    @classmethod
    def unpacked(cls, data: bytes) -> "FileTerms":
        path, symbols, *passages = zlib.decompress(data).decode().split("\n")
        return cls(path, symbols, tuple(passages))


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """`digest`: of the content. `lengths`: how many terms path, symbols and body have. `grams`: the signature of the
    text."""

    path: str
    digest: bytes
    terms: FileTerms
    packed: bytes
    lengths: tuple[int, int, int]
    symbols: tuple[Symbol, ...]
    grams: bytes


def digest_of(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def document_of(path: str, content: bytes) -> IndexedDocument:
    text = content[:LARGEST_READ].decode(errors="replace")
    symbols = tuple(symbols_of(path, content))
    terms = FileTerms(
        path=terms_of(path),
        symbols=terms_of(" ".join(symbol.name for symbol in symbols)),
        passages=tuple(terms_of(passage) for passage in passages_of(text)),
    )
    return IndexedDocument(
        path=path,
        digest=digest_of(content),
        terms=terms,
        packed=terms.packed(),
        lengths=(length_of(terms.path), length_of(terms.symbols), length_of(terms.body)),
        symbols=symbols,
        grams=signature_of(text),
    )
