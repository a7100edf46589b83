"""The traits of a text: its form, and the notes in the metadata of its chunks. Also reads versions of a text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from weakref import ref

from context_protection.core import tokens
from context_protection.core.budget import dumps
from context_protection.core.payloads import Text
from context_protection.core.policy import Policy
from context_protection.core.splitting import forms
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.plans import (
    ChunkSizes,
    TextGone,
)

HEAD = 20_000  # characters from which the text's form is detected
LONGEST_HEADER = 4000  # bytes of JSON; a longer CSV header is not repeated in each chunk


@dataclass(frozen=True, slots=True)
class TextTraits:
    """A text's form, and the notes in the metadata of each chunk, in addition to its lines."""

    form: TextForm
    notes: Mapping[str, str] = field(default_factory=dict)

    def beside(self, start_line: int) -> Mapping[str, str]:
        """The notes for a chunk. The first chunk has no header note, because it contains the header."""
        return {name: note for name, note in self.notes.items() if name != "header" or start_line > 1}

    def chunk_sizes(self, policy: Policy, *, bounded: bool = True) -> ChunkSizes:
        return ChunkSizes.of(self.form, policy, bounded=bounded, beside=dumps(self.notes) if self.notes else b"")


def traits_of(text: Text, policy: Policy) -> TextTraits:
    traits = _detected_traits(_DetectionKey(ref(text), text.version, text.name, text.media_type, text.encoding))
    header = traits.notes.get("header")
    if header is None or tokens.formula(header) * 8 <= policy.hard_cap:
        return traits
    return TextTraits(traits.form, {name: note for name, note in traits.notes.items() if name != "header"})


@dataclass(frozen=True, slots=True)
class _DetectionKey:
    text: "ref[Text]" = field(compare=False)  # weak: a cached result must not keep the whole text in memory
    version: str
    name: str
    media_type: str
    encoding: str


@lru_cache(maxsize=256)
def _detected_traits(key: _DetectionKey) -> TextTraits:
    head = reader(dereferenced(key.text), key.version)(0, HEAD)
    form = forms.detect(key.name, key.media_type, head)
    notes = {} if key.encoding == "utf-8" else {"encoding": key.encoding}
    header = forms.csv_header(head) if form is TextForm.CSV else ""
    if header and len(dumps(header)) <= LONGEST_HEADER:
        notes["header"] = header
    return TextTraits(form, notes)


def chunk_sizes_of(text: Text, policy: Policy) -> ChunkSizes:
    """The sizes by which the whole text is cut: the policy's chunk sizes, or only the hard cap if it is short or
    chunking is off."""
    short = tokens.formula_of_length(text.chars) <= policy.chunk_tokens
    return traits_of(text, policy).chunk_sizes(policy, bounded=policy.chunking and not short)


def reader(text: Text, version: str) -> Callable[[int, int], str]:
    """Returns a function that reads characters `start` to `end`. The function raises TextGone."""

    def read(start: int, end: int) -> str:
        content = text.read(version, start, end)
        if content is None:
            raise TextGone
        return content

    return read


def dereferenced(text: "ref[Text]") -> Text:
    """Dereferences the text, which is alive because a caller further up holds it."""
    found = text()
    assert found is not None
    return found
