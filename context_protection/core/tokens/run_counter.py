"""Counts the tokens of a text by its runs: pieces of letters, digits or punctuation, each priced once."""

import random
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from context_protection.core.tokens.estimator import (
    CUT_RUNS,
    FIRST_SLICES,
    MAX_SLICES,
    SEGMENT,
    SLICE,
    TOLERANCE,
    TYPICAL,
    TokenSample,
    weigh,
)
from context_protection.core.tokens.runs import OPENING_QUOTE

# A segment with more than PRICED_RUNS distinct runs is close to noise. It is counted from SAMPLED_RUNS of its runs:
# 0.5 % off on base64, 3 % at worst. Pricing a run takes 2 to 10 µs, so a new text takes at most 60 ms per 100 KB.
PRICED_RUNS: Final = 7_000
SAMPLED_RUNS: Final = 4_096
# Cached prices per generation. A run has at most 100 characters, so the two generations take 10 MB, at worst 25 MB.
REMEMBERED_RUNS: Final = 1 << 15


class Prices(dict[str, int]):
    """A cache of run prices in two generations. The older one stays until the newer is full as well, so that many
    random ids do not evict common words. Threads may lose each other's entries, but no price is ever wrong.
    """

    def __init__(self, price: Callable[[str], int]) -> None:
        super().__init__()
        self._price = price
        self._turning = threading.Lock()
        self._older: dict[str, int] = {}

    def __missing__(self, run: str) -> int:
        price = self._older.get(run)
        if price is None:
            price = self._price(run)
        self._make_room()
        self[run] = price
        return price

    def _make_room(self) -> None:
        if len(self) < REMEMBERED_RUNS:
            return
        with self._turning:
            if len(self) >= REMEMBERED_RUNS:
                self._older = dict(self)
                self.clear()


class RunCounter:
    """Counts a text as the sum of its runs' prices. `pattern` cuts a text into runs without omitting a character.
    `price` returns the tokens of a run, always the same for equal runs.
    """

    def __init__(self, pattern: re.Pattern[str], price: Callable[[str], int]) -> None:
        self.pattern = pattern
        self._prices = Prices(price)

    def count(self, text: str) -> int:
        text, total = text.replace("\r", ""), 0  # ctok drops it and joins its neighbours
        for start in range(0, len(text), SEGMENT):
            total += self._tokens(text, start, start + SEGMENT)
        return total

    def estimate(self, text: str) -> int:
        """Counts a few slices, and doubles their number while they disagree. Counts the whole text if that is cheap or
        if the slices would cover half of it, so always below 6,144 characters.
        """
        text = text.replace("\r", "")
        weight, sample = weigh(text, TYPICAL), TokenSample((), ())
        while (slices := 2 * sample.slices or FIRST_SLICES) * SLICE * 2 <= len(text):
            sample += self._sample(text, slices - sample.slices, seed=weight * slices)
            if sample.thin:
                break
            if sample.error <= TOLERANCE or slices >= MAX_SLICES:
                return round(sample.rate * weight)
        return self.count(text)

    def _tokens(self, text: str, start: int, end: int) -> int:
        runs = self.pattern.findall(text, start, end)
        quotes = len(OPENING_QUOTE.findall(text, start, end))
        if len(runs) > PRICED_RUNS and len(set(runs)) > PRICED_RUNS:
            return self._sum_sampled(runs) + quotes
        return self._sum(runs) + quotes

    def _sum(self, runs: Iterable[str]) -> int:
        return sum(map(self._prices.__getitem__, runs))

    def _sum_sampled(self, runs: Sequence[str]) -> int:
        """Extrapolates from a sample, because pricing a new run takes a hundred times as long as a cached one and
        nearly all runs here are new (base64, noise). The sample depends on the text alone, never on the cache: a
        count must not depend on earlier texts.
        """
        chosen = random.Random(len(runs)).sample(runs, SAMPLED_RUNS)  # noqa: S311
        return round(self._sum(chosen) * sum(map(len, runs)) / sum(map(len, chosen)))

    def _sample(self, text: str, slices: int, seed: int) -> "TokenSample":
        """Takes a slice at a random place in each of `slices` equal strata. Regular steps could coincide with
        records of equal length."""
        place = random.Random(seed).random  # noqa: S311
        stride = len(text) / slices
        starts = (int(i * stride + place() * (stride - SLICE)) for i in range(slices))
        parts = [text[start : start + SLICE] for start in starts]
        tokens = tuple(self._tokens(part, 0, SLICE) - CUT_RUNS for part in parts)
        return TokenSample(tokens, tuple(weigh(part, TYPICAL) for part in parts))
