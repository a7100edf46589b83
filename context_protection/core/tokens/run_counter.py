"""Counts the tokens of a text by its runs: pieces of letters, digits or punctuation, each priced once."""

import random
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from sys import getsizeof
from typing import Final

from context_protection.core.cache_budget import Cache, CacheBudget, cache_budget
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

# A segment with more than PRICED_RUNS distinct runs, or as many inner characters, is close to noise. It is counted from
# SAMPLED_RUNS of its runs: 0.5 % off on base64, 3 % at worst. Pricing a run takes 2 to 10 µs, so a new text takes at
# most 60 ms per 100 KB.
PRICED_RUNS: Final = 7_000
SAMPLED_RUNS: Final = 4_096
# Characters that decide whether a text is Chinese, and how many Chinese ones there are for each other of East Asia.
SAMPLED_CHARS: Final = 2_000
MOSTLY: Final = 3
_BYTES: Final = bytes(range(256))
_NOT_CHINESE: Final = _BYTES.translate(None, bytes(range(0xE4, 0xEA)))  # the first bytes of Han
_NOT_KANA_OR_HANGUL: Final = _BYTES.translate(None, bytes([0xE3, *range(0xEA, 0xEE)]))  # 0xE3: also "。" and "、"
# Prices are charged to the budget in blocks of BLOCK bytes. A generation takes about 1 / GENERATIONS of the budget.
BLOCK: Final = 1 << 14
GENERATIONS: Final = 16
# Bytes of a price in its generation, besides those of its run.
PRICE_BYTES: Final = 40


class Prices(dict[str, int]):
    """A cache of run prices, within the budget of all caches. It is divided into generations: this dictionary is the
    newest one, and prices found in an older one are copied to it. The budget drops the oldest one first, so that many
    random ids do not evict common words. Threads may lose each other's entries, but no price is ever wrong.
    """

    def __init__(self, price: Callable[[str], int], budget: CacheBudget = cache_budget) -> None:
        super().__init__()
        self._price, self._budget = price, budget
        self._growing = threading.Lock()
        self._generations: Cache[int, dict[str, int]] = Cache(
            "token prices", budget, has_answers=False, removed=self._removed
        )
        self._newest = 0
        self._paid = 0  # bytes that this generation may still grow by

    def __missing__(self, run: str) -> int:
        price = self._older(run)
        if price is None:
            price = self._price(run)
        if self._has_room(getsizeof(run) + PRICE_BYTES):
            self[run] = price
        return price

    def _older(self, run: str) -> int | None:
        return next((prices[run] for prices in self._generations.values() if run in prices), None)

    def _has_room(self, size: int) -> bool:
        if self._paid < size:
            with self._growing:
                if self._paid < size and not self._grow():
                    return False
        self._paid -= size
        return True

    def _grow(self) -> bool:
        size = self._generations.size(self._newest)
        if size > self._budget.most_bytes // GENERATIONS:
            self._generations.put(self._newest, dict(self), size)
            self._newest += 1
        grown = self._generations.grow(self._newest, BLOCK) or self._generations.put(self._newest, self, BLOCK)
        self._paid += BLOCK if grown else 0
        return grown

    def _removed(self, prices: dict[str, int]) -> None:
        if prices is self:
            self.clear()
            self._paid = 0


def _is_chinese(data: bytes) -> bool:
    """Whether nearly all characters of East Asia are Chinese ones. Other texts have short rows of ideographs, so they
    are counted faster with the pattern of all runs."""
    chinese = len(data.translate(None, _NOT_CHINESE))
    return chinese > MOSTLY * len(data.translate(None, _NOT_KANA_OR_HANGUL))


def _are_many(runs: Sequence[str]) -> bool:
    return len(runs) > PRICED_RUNS and len(set(runs)) > PRICED_RUNS


class RunCounter:
    """Counts a text as the sum of its runs' prices. `normalized` returns a text as the tokenizer reads it. `pattern`
    cuts such a text into runs without omitting a character. `inner`: see inner_pattern. `price` returns the tokens of a
    run, always the same for equal runs.
    """

    def __init__(
        self,
        pattern: re.Pattern[str],
        inner: re.Pattern[str],
        price: Callable[[str], int],
        normalized: Callable[[str], str],
    ) -> None:
        self.pattern, self._inner = pattern, inner
        self._prices, self._normalized = Prices(price), normalized

    def count(self, text: str) -> int:
        return sum(self._tokens(text[start : start + SEGMENT]) for start in range(0, len(text), SEGMENT))

    def estimate(self, text: str) -> int:
        """Counts a few slices, and doubles their number while they disagree. Counts the whole text if the slices have
        few tokens, or would cover half of it: always below 2 * FIRST_SLICES * SLICE characters.
        """
        weight, sample = weigh(text, TYPICAL), TokenSample((), ())
        while (slices := 2 * sample.slices or FIRST_SLICES) * SLICE * 2 <= len(text):
            sample += self._sample(text, slices - sample.slices, seed=weight * slices)
            if sample.thin:
                break
            if sample.error <= TOLERANCE or slices >= MAX_SLICES:
                return round(sample.rate * weight)
        return self.count(text)

    def _tokens(self, text: str) -> int:
        text, inner = self._without_inner(self._normalized(text))
        runs, quotes = self.pattern.findall(text), len(OPENING_QUOTE.findall(text))
        if _are_many(runs) or _are_many(inner):
            return self._sum_sampled([*runs, *inner]) + quotes
        return self._sum(runs) + self._sum(inner) + quotes

    def _without_inner(self, text: str) -> tuple[str, str]:
        """The text without the characters that are runs of their own whatever is around them, and those characters."""
        if text.isascii() or not _is_chinese(text[:SAMPLED_CHARS].encode("utf-8", "surrogatepass")):
            return text, ""
        parts = self._inner.split(text)  # other text, the first of a row, the others of the row, other text, …
        inner = "".join(parts[2::3])
        del parts[2::3]
        return "".join(parts), inner

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
        tokens = tuple(self._tokens(part) - CUT_RUNS for part in parts)
        return TokenSample(tokens, tuple(weigh(part, TYPICAL) for part in parts))
