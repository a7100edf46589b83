"""The texts of `meta` that repeat names and values of the data."""

from types import SimpleNamespace

import pytest

from context_protection.core import meta_texts, tokens
from context_protection.core.budget import dumps


def test_short_texts_stay_as_they_are():
    meta = {"notes": ["One sentence.", "Another."], "withheld": ["doorCode"], "kind": "full"}
    assert meta_texts.bounded(meta, 1000) is meta


def test_long_texts_are_cut_the_longest_first():
    meta = {"notes": ["Short.", "漢字" * 20_000], "withheld": [f"{chr(0xF0000 + n) * 80}" for n in range(41)]}
    found = meta_texts.bounded(meta, 12_000)
    assert found["notes"][0] == "Short."
    assert len(found["withheld"]) == 41
    for texts in found.values():
        assert tokens.claude.count(dumps(texts).decode()) <= 3000


@pytest.mark.parametrize("text", ["words", "漢字" * 500])
def test_more_texts_than_fit_even_cut_are_left_out_in_few_steps(monkeypatch: pytest.MonkeyPatch, text: str):
    counted: list[int] = []

    def count(written: str) -> int:
        counted.append(len(written))
        return counter.count(written)

    counter = tokens.claude
    monkeypatch.setattr(meta_texts, "tokens", SimpleNamespace(claude=SimpleNamespace(count=count)))
    found = meta_texts.bounded({"notes": [f"{n} {text}" for n in range(2000)]}, 1000)
    assert 0 < len(found["notes"]) < 250
    assert len(counted) < 20
