"""How many tokens a text costs: the seeds' formula, and Claude's own count.

`formula` is the figure that answers carry (FR-013). `claude` is the ruler that guards the hard cap (law 1)
and gives telemetry the actual beside the estimate (FR-014). Claude's vocabulary comes from the package ctok;
of its versions we take "4.8", the newest, which on 98 % of texts is also the dearest.

A text need not go through ctok as a whole, which takes 200 ms per 100 KB. Claude's tokens never cross from
letters to digits to punctuation, so a text is cut into runs, each run is priced by ctok once and remembered,
and the sum of the prices is the count: 5 to 8 ms per 100 KB, and within 1 % of ctok on 99 % of texts.

    claude.count(text)       every run                        before something is sent
    claude.estimate(text)    some slices of a long text       to choose a path: whole, page or store
    exact(text)              ctok itself                      to audit the others, off the hot path
"""

import functools
import inspect
import math
import random
import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

# ---- the seeds' formula ---------------------------------------------------------------------------


def formula(text: str) -> int:
    """Tokens by FR-013: a quarter of the characters, and 20 % on top."""
    return formula_of_length(len(text))


def formula_of_length(chars: int) -> int:
    """`formula` of any text of so many characters, for callers that know only its length."""
    quarter = chars // 4
    return quarter + int(quarter * 0.2)


# ---- rulers ---------------------------------------------------------------------------------------


class Ruler(Protocol):
    """Measures texts in tokens. The same text always measures the same, in every process."""

    @property
    def degraded(self) -> str:
        """One sentence on why this ruler measures worse than it should; empty while it is well."""

    def count(self, text: str) -> int:
        """Tokens of the text, from reading all of it."""

    def estimate(self, text: str) -> int:
        """Tokens of the text, from reading as little of it as will do."""


class ClaudeRuler:
    """Tokens as today's Claude counts them, without the fixed frame of a message.

    `count` was within 3 % of ctok, and `estimate` within 10 %, on each of 2,865 real and made texts. The
    vocabulary is loaded at the first use, once (0.2 s). Where ctok is missing, or is no longer what it was,
    `degraded` says so and both answer with `guarded`, which errs upwards.
    """

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._loaded = False
        self._counter: RunCounter | None = None
        self._degraded = ""

    @property
    def degraded(self) -> str:
        self._load_once()
        return self._degraded

    def count(self, text: str) -> int:
        counter = self._load_once()
        return self._safely(counter.count, text) if counter else guarded(text)

    def estimate(self, text: str) -> int:
        counter = self._load_once()
        return self._safely(counter.estimate, text) if counter else guarded(text)

    def _load_once(self) -> "RunCounter | None":
        if not self._loaded:
            with self._loading:
                if not self._loaded:
                    self._load()
        return self._counter

    def _load(self) -> None:
        try:
            self._counter = load_counter()
        except Exception as error:  # whatever is wrong with ctok, requests must be answered (law 5)
            self._degraded = f"Claude tokens are guessed from bytes, because ctok does not load: {error}."
        self._loaded = True

    def _safely(self, measure: Callable[[str], int], text: str) -> int:
        try:
            return measure(text)
        except Exception as error:  # law 5 again: ctok may meet a run that nobody has tried
            self._degraded = f"A text's Claude tokens were guessed from bytes, as ctok failed: {error!r}."
            return guarded(text)


# ---- counting: runs and their prices --------------------------------------------------------------

# How many characters are cut into runs at once. Bounds the memory; the cut itself costs a token or two.
SEGMENT: Final = 1 << 16
# Up to here every run is priced, whatever it costs; what leaves is shorter.
PRICED_IN_FULL: Final = 2 * SEGMENT
# Beyond it, at most so many runs stand for a segment of nearly only new ones: 2 % off, and less over several.
SAMPLED_RUNS: Final = 1_024
# Longer runs are hardly ever met again.
REMEMBERED_LENGTH: Final = 20
# In each of two generations; both together take up to 10 MB.
REMEMBERED_RUNS: Final = 1 << 15


class Prices(dict[str, int]):
    """The prices of the runs met lately. A full generation is kept until the next is full as well, so that a
    flood of random ids does not wash out the words. Threads may lose each other's entries; no price is wrong.
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
        if len(run) <= REMEMBERED_LENGTH:
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
    """Counts a text as the sum of its runs' prices. `pattern` cuts a text into runs and leaves no character
    out; `price` gives the tokens of a run, always the same.
    """

    def __init__(self, pattern: re.Pattern[str], price: Callable[[str], int]) -> None:
        self.pattern = pattern
        self._prices = Prices(price)

    def count(self, text: str) -> int:
        total = 0
        for start in range(0, len(text), SEGMENT):
            runs = self.pattern.findall(text, start, start + SEGMENT)
            total += self._sum(runs) if start < PRICED_IN_FULL else self._sum_bounded(runs)
        return total

    def estimate(self, text: str) -> int:
        """From few slices, and twice as many while they disagree; from all where that is cheap, or where they
        would be half of the text (so always below 6,144 characters).
        """
        weight = weigh(text, TYPICAL)
        slices = FIRST_SLICES
        while slices * SLICE * 2 <= len(text):
            sample = self._sample(text, slices, seed=weight * slices)
            if sample.thin:
                break
            if sample.error <= TOLERANCE or slices >= MOST_SLICES:
                return round(sample.rate * weight)
            slices *= 2
        return self.count(text)

    def _sum(self, runs: Iterable[str]) -> int:
        return sum(map(self._prices.__getitem__, runs))

    def _sum_bounded(self, runs: Sequence[str]) -> int:
        """A new run costs a hundred times a remembered one. Where nearly all are new (base64, noise), some of
        them say it as well. The text decides, never the memory: a count must not depend on who came before.
        """
        times = Counter(runs)
        if sum(map(len, times)) <= SEGMENT // 4:
            return sum(self._prices[run] * often for run, often in times.items())
        enough = min(math.ceil(len(runs) / 16), SAMPLED_RUNS)
        chosen = random.Random(len(runs)).sample(runs, enough)  # noqa: S311
        return round(self._sum(chosen) * sum(map(len, runs)) / sum(map(len, chosen)))

    def _sample(self, text: str, slices: int, seed: int) -> "Sample":
        """Slices at random places of equal strata: even steps fall in with records of one length."""
        place = random.Random(seed).random  # noqa: S311
        stride = len(text) / slices
        starts = (int(i * stride + place() * (stride - SLICE)) for i in range(slices))
        parts = [text[start : start + SLICE] for start in starts]
        tokens = [self._sum(self.pattern.findall(part)) - CUT_RUNS for part in parts]
        return Sample(tokens, [weigh(part, TYPICAL) for part in parts])


# ---- estimating: slices and their weights ---------------------------------------------------------

# In characters.
SLICE: Final = 128
FIRST_SLICES: Final = 24
MOST_SLICES: Final = 192
# The relative standard error at which slices agree well enough.
TOLERANCE: Final = 0.02
# What a slice counts too much, for it cuts a run at either end.
CUT_RUNS: Final = 0.5
# Tokens per character below which a text is long rules and blanks: quick to count, and most of its tokens
# may sit in few spots that no slice meets.
THIN: Final = 0.15


@dataclass(frozen=True, slots=True)
class Sample:
    """Tokens and weights of some slices of a text. Tokens per weight vary far less between the parts of a
    document than tokens per character do.
    """

    tokens: Sequence[float]
    weights: Sequence[int]

    @property
    def rate(self) -> float:
        """Tokens per weight."""
        return sum(self.tokens) / sum(self.weights)

    @property
    def error(self) -> float:
        """The relative standard error of the rate."""
        rate, slices = self.rate, len(self.tokens)
        spread = sum((t - rate * w) ** 2 for t, w in zip(self.tokens, self.weights, strict=True))
        return math.sqrt(spread * slices / (slices - 1)) / sum(self.tokens)

    @property
    def thin(self) -> bool:
        return sum(self.tokens) < THIN * SLICE * len(self.tokens)


# Tokens per byte of UTF-8 by the kind of byte: typical, and at most. A lead byte stands for its script.
# Fitted on ctok's counts of 1,431 texts of 20 classes (JSON, logs, CSV, ids, code, prose, translations into
# 60 languages), 300 mixtures made of them and, for the second column, 80 extremes (noise, rare scripts). The
# first: least squares of the relative error, within 20 % on 94 %. The second: the cheapest linear bound that
# none of them exceeds, rounded up; it does not hold for a flood of the commonest letters ("aaaa", "onesto").
_BYTES: Final = (
    (b"aeinorst", 0.05, 0.35),
    (b"cdhlmpu", 0.7, 0.6),
    (b"bfgkvwy", 1.3, 1.05),
    (b"jqxz", 2.0, 2.25),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0.95, 1.0),
    (b"0123456789", 0.6, 1.25),
    (b" ", 0.1, 0.1),
    (b"\n\t", 1.2, 1.0),
    (b"\"'*-=_#~<>|.", 0.45, 0.6),
    (b"!$%&()+,/:;?@[]^`{}\\", 1.1, 1.6),
    (range(0x80, 0xC0), 0.4, 0.5),  # every byte of a character but its first
    (range(0xC2, 0xC4), 1.55, 1.25),  # é ß
    (range(0xC4, 0xCC), 1.15, 1.95),  # ł ş
    (range(0xCC, 0xD2), 0.1, 0.3),  # Greek, Cyrillic
    (range(0xD2, 0xE0), 0.4, 2.25),  # Hebrew, Arabic
    (range(0xE0, 0xE1), 0.3, 1.6),  # Indic, Thai
    (range(0xE1, 0xE2), 0.25, 2.5),  # Georgian, Khmer
    (range(0xE2, 0xE3), 0.95, 2.8),  # dashes, arrows, boxes
    (range(0xE3, 0xE4), 0.05, 0.95),  # kana
    (range(0xE4, 0xEA), 0.5, 1.4),  # Han
    (range(0xEA, 0xEE), 0.55, 2.3),  # Hangul
    (range(0xEE, 0xF0), 0.05, 2.6),  # full width
    (range(0xF0, 0x100), 1.75, 2.8),  # emoji
)
# A weight is so many twentieths of a token, and no byte weighs nothing.
_UNIT: Final = 0.05
# adler32 sums bytes at the speed of C: its lower half is their sum modulo 65,521. So few stay below that.
_BLOCK: Final = 1_024


def _weights(prices: Iterable[tuple[bytes | range, float]]) -> bytes:
    table = bytearray(b"\1" * 256)
    for kind, price in prices:
        for byte in kind:
            table[byte] = round(price / _UNIT)
    return bytes(table)


TYPICAL: Final = _weights((kind, typical) for kind, typical, _ in _BYTES)
AT_MOST: Final = _weights((kind, at_most) for kind, _, at_most in _BYTES)


def weigh(text: str, weights: bytes) -> int:
    """The text's UTF-8 bytes by their `weights`, in twentieths of a token; 0.1 ms per 100 KB."""
    total = 0
    for start in range(0, len(text), SEGMENT):
        weighed = text[start : start + SEGMENT].encode("utf-8", "surrogatepass").translate(weights)
        blocks = (weighed[at : at + _BLOCK] for at in range(0, len(weighed), _BLOCK))
        total += sum(zlib.adler32(block, 0) & 0xFFFF for block in blocks)
    return total


def guarded(text: str) -> int:
    """Claude tokens of a text without ctok: the formula, raised to the most that such bytes were seen to
    cost. At median 1.4 times the true count; up to 2 times on CJK and logs, 4 times on rare scripts.
    """
    return max(formula(text), math.ceil(weigh(text, AT_MOST) * _UNIT))


# ---- ctok -----------------------------------------------------------------------------------------


class Ctok:
    """All that Sluice relies on in ctok 1.3, nearly all of it private:

    - `tile(text, model)`, whose first result is a text's count without the frame of its message;
    - the model's reverse trie: dicts from a piece's last character to its first, a key `None` at its end;
    - how an ASCII word is spelled: between two marks, and a capitalised one lowered behind a third;
    - `classify` and `_hard_kind`, the classes of characters that pieces do not cross; `nfc`, the clean-up;
    - `token_count`, the public count of a whole message, to check the rest against.
    """

    VERSION: Final = "4.8"
    FRAME: Final = 6  # tokens of a message beside its text

    def __init__(self) -> None:
        from ctok import token_count
        from ctok.constants import BOW_G, EOW_G, SHIFT_G
        from ctok.engine import tile
        from ctok.main import _family, _model
        from ctok.normalize import _hard_kind, classify, nfc

        self._model: Any = _model(_family(self.VERSION))
        self._tile: Callable[[str, Any], tuple[int, Any]] = tile
        self._trie: dict[str | None, Any] = self._model.trie.root
        self._open, self._open_capital, self._close = BOW_G, SHIFT_G + BOW_G, EOW_G
        self._clean: Callable[[str], str] = functools.partial(nfc, fold_quotes=self._model.fold_quotes)
        self._class: Callable[[str], str] = inspect.unwrap(classify)  # or its cache keeps 40,000 answers
        self._hard_kind: Callable[[str], str] = _hard_kind
        self._message_count: Callable[[str, str], int] = token_count

    def count(self, text: str) -> int:
        """The exact count, at 200 ms per 100 KB."""
        return self._message_count(text, self.VERSION) - self.FRAME

    def price(self, run: str) -> int:
        """Tokens of a run where `run_pattern` cuts it out."""
        if not run:
            return 1  # a space that costs
        core = run.strip(" ")
        if core.isascii() and core.isalpha():
            opening = self._open_capital + core.lower() if core.istitle() else self._open + core
            return self._fewest_pieces(opening + self._close)
        if core.isascii() and core.isdigit():
            return self._fewest_pieces(run)
        return self._price_between_neighbours(self._clean(run))

    def _price_between_neighbours(self, run: str) -> int:
        """A run's spelling depends on what stands beside it. So it is counted between two characters of
        another class that cost a token each: "a" across a space or beside digits, else "1".
        """
        if not run:
            return 0
        before = "a" if (run[0] == " " and run.strip(" ")) or run[0].isdecimal() else "1"
        after = "a" if run[-1] == " " or run[-1].isdecimal() else "1"
        return self._tile(before + run + after, self._model)[0] - 2

    def _fewest_pieces(self, spelling: str) -> int:
        """As ctok's own tiling of ASCII, but without listing the pieces, in a fifth of the time: most new
        runs are words. Every ASCII character is a piece by itself.
        """
        fewest = [0]
        for end, last in enumerate(spelling):
            best, start, node = fewest[end] + 1, end, self._trie.get(last)
            while node is not None and start > 0:
                start -= 1
                node = node.get(spelling[start])
                if node is not None and None in node:
                    best = min(best, fewest[start] + 1)
            fewest.append(best)
        return fewest[-1]

    def letters_and_ideographs(self) -> tuple[str, str]:
        """What is beyond ASCII, as insides of regular expression sets: characters that form words, and those
        that stand alone (Han, Hangul, emoji).
        """
        kinds: dict[str, list[int]] = {"letter": [], "ideograph": [], "sign": []}
        for code in range(0x80, 0x10000):
            kinds[self._kind(code)].append(code)
        return _ranges(kinds["letter"]), _ranges(kinds["ideograph"]) + r"\U00010000-\U0010ffff"

    def _kind(self, code: int) -> str:
        if 0x300 <= code < 0x370:
            return "letter"  # accents: the clean-up makes them one with their letters
        if 0xD800 <= code < 0xF900:
            return "ideograph" if code < 0xE000 else "sign"  # lone surrogates; private ones, which are free
        character = chr(code)
        kind = self._class(character)
        if kind == "wordy":
            return "letter"
        return "ideograph" if kind == "hard" and self._hard_kind(character) == "letter" else "sign"


def _ranges(codes: Sequence[int]) -> str:
    known = set(codes)
    starts = (code for code in codes if code - 1 not in known)
    ends = (code for code in codes if code + 1 not in known)
    return "".join(rf"\u{start:04x}-\u{end:04x}" for start, end in zip(starts, ends, strict=True))


def run_pattern(letters: str, ideographs: str) -> re.Pattern[str]:
    """Cuts any text into runs whose prices add up, every character in one of them, in linear time: nothing
    repeats without bound, so a run without end comes in windows.

    Punctuation is spelled otherwise beside a space, so it keeps the spaces around it. A single space is free
    between words and punctuation, and costs a token beside a digit, an ideograph, or a quote that opens a word.
    Where it went with its neighbour all the same, an empty run in front or behind stands for that token.
    """
    letter, paying, other = rf"[A-Za-z{letters}]", rf"[0-9{ideographs}]", rf"[^0-9{ideographs}\s]"
    sign = rf"[^A-Za-z{letters}{ideographs}0-9\s]"
    space = r"[\ \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\x1c-\x1f]"
    newline = r"[\t\n\r\f\v\x85\u3000]"
    signs = rf"{sign}{{1,16}}+(?:{space}{sign}{{1,16}}+){{0,3}}+(?:{space}(?=\S))?"
    return re.compile(
        rf"""
          (?<={paying})(?={space}{other})
        | (?<={sign}{space})(?={paying})
        | (?<={other}{space}')(?={letter})
        | {space}?{letter}{{1,64}}
        | [0-9]{{1,3}}
        | '(?:[stdm]|ll|re|ve)(?!{letter})
        | {signs}
        | (?:{newline}{{1,16}}+{space}{{0,16}}+|{space}{{1,16}}+)(?:{signs})?
        | [{ideographs}]
        """,
        re.VERBOSE,
    )


# Something of every class, and what ctok 1.3.0 counts for it. If ctok no longer does, or if the runs add up
# to something else, then its insides have changed and no price can be trusted.
KNOWN_TEXT: Final = (
    '{"id":43000003,"guestName":"Müller, Ana","total":1234.50,"notes":"It\'s late: 22:15 → 你好 😀"}\n'
    "    - return self.price_of(run)  # Привет, สวัสดี\n2026-11-20T10:00:01Z WARN aGVsbG8gd29ybGQ= 7f3a"
)
KNOWN_COUNT: Final = 115


def load_counter() -> RunCounter:
    """A counter by ctok's vocabulary. Raises ImportError without ctok, and ValueError, or whatever else its
    insides raise, where it is not the ctok that this module was written for.
    """
    ctok = Ctok()
    counter = RunCounter(run_pattern(*ctok.letters_and_ideographs()), ctok.price)
    whole, by_runs = ctok.count(KNOWN_TEXT), counter.count(KNOWN_TEXT)
    if not whole == by_runs == KNOWN_COUNT:
        raise ValueError(f"its check text costs {whole} tokens, {by_runs} by runs, and not {KNOWN_COUNT}")
    return counter


claude: Final[Ruler] = ClaudeRuler()


@functools.cache
def _ctok() -> Ctok:
    return Ctok()


def exact(text: str) -> int:
    """ctok's own count of the whole text, without the frame of a message, at 200 ms per 100 KB: for audits (FR-014).

    Raises ImportError without ctok, and whatever its insides raise.
    """
    return _ctok().count(text)
