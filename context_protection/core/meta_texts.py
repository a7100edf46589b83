"""Bounds the texts in `meta` that repeat names and values of the data, which may have any length (law 1)."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from context_protection.core import tokens

BOUNDED = ("notes", "withheld")
SHARE = 4  # each takes at most a quarter of the hard cap
TOKENS_A_CHARACTER = 6  # at most, as a control character is six characters of JSON
SHORTEST = 8  # characters; texts that short are left out, rather than cut


def bounded(meta: Mapping[str, Any], hard_cap: int) -> Mapping[str, Any]:
    most = hard_cap // SHARE
    for name in BOUNDED:
        texts = meta.get(name)
        if texts and sum(map(len, texts)) * TOKENS_A_CHARACTER > most:
            meta = {**meta, name: _fitted(texts, most)}
    return meta


def _fitted(texts: Sequence[str], most: int) -> list[str]:
    """Cuts the longest texts to half of their length until all of them take at most `most` tokens. When all are short,
    leaves out the last ones. Few steps suffice for any number of texts, because each step counts all of them."""
    kept = list(texts)
    while (counted := tokens.claude.count(orjson.dumps(kept).decode())) > most:
        half = max(map(len, kept)) // 2
        if 2 * half > SHORTEST:
            kept = [text if len(text) <= half else f"{text[:half]}…" for text in kept]
        else:
            kept = kept[: min(len(kept) - 1, len(kept) * most // counted)]
    return kept
