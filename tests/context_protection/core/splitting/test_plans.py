"""Chunks are within the hard cap, whatever their characters cost (law 1)."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_protection.core import tokens
from context_protection.core.budget import dumps
from context_protection.core.policy import Policy
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.planner import plan
from context_protection.core.splitting.plans import ChunkSizes

POLICY = Policy()
LONG = 15_000  # characters: more than a chunk of any of these texts


def dearest(text: str) -> int:
    """The most tokens of a chunk of the text."""
    cuts = plan(text, TextForm.PROSE, ChunkSizes.of(TextForm.PROSE, POLICY).limits).cuts
    return max(tokens.exact(dumps(text[start:end]).decode()) for start, end in pairwise(cuts))


# Combining marks, Greek and Cyrillic capitals, musical signs: each costs more than its bytes suggest.
@pytest.mark.parametrize("characters", ["\u0302", "\u0344", "Ж", "ЖШ ", "Ϡ", "\U0001d15e", "a", "<", '\\"', "\x07"])
def test_repeated_characters_are_within_the_cap(characters: str) -> None:
    assert dearest(characters * (LONG // len(characters))) <= POLICY.hard_cap


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Co"]), min_size=1, max_size=8))
@example("q\u0301")
def test_repeated_strings_are_within_the_cap(text: str) -> None:
    assert dearest(text * (LONG // len(text))) <= POLICY.hard_cap
