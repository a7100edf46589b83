"""Counts the tokens of a text: by the formula of FR-013, and as Claude counts them.

Answers carry the figure of `formula` (FR-013). `claude` guards the hard cap (law 1) and gives telemetry the actual
count for each estimate (FR-014). Claude's vocabulary comes from the package ctok. We use its version "4.8", the
newest, which gives the highest count on 98 % of texts.

ctok takes 200 ms per 100 KB for a whole text. This module is faster: Claude's tokens never cross from letters to
digits to punctuation, so it cuts a text into runs, prices each run by ctok once, caches the price, and adds the
prices up. That takes 3 to 7 ms per 100 KB, and is within 1 % of ctok on 99 % of texts.

    claude.count(text)       reads every run                      before an answer is sent
    claude.estimate(text)    reads some slices of a long text     to choose a path: whole, page or store
    exact(text)              runs ctok itself                     to audit the other two, off the hot path
"""

import functools
import inspect
import math
import random
import re
import threading
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

# ---- formula --------------------------------------------------------------------------------------


def formula(text: str) -> int:
    """Tokens by FR-013: a quarter of the characters, plus 20 %."""
    return formula_of_length(len(text))


def formula_of_length(chars: int) -> int:
    """`formula` of a text with `chars` characters, for callers that know only the length."""
    quarter = chars // 4
    return quarter + int(quarter * 0.2)


# ---- rulers ---------------------------------------------------------------------------------------


class Ruler(Protocol):
    """Measures texts in tokens. A text has the same measure in every process."""

    @property
    def degraded(self) -> str:
        """One sentence on why this ruler is less accurate than it should be; empty if it works normally."""

    def count(self, text: str) -> int:
        """Tokens of the text. Reads all of it."""

    def estimate(self, text: str) -> int:
        """Approximate tokens of the text. Reads as little of it as possible."""


class ClaudeRuler:
    """Tokens as today's Claude counts them, without the fixed overhead of a message.

    On each of 3,536 real and synthetic texts, `count` was within 2 % of ctok and `estimate` within 8 %. The
    vocabulary is loaded once, at first use (0.2 s). If ctok is missing or has changed, `degraded` says so and both
    methods return `guarded`, which errs upwards.
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
        except Exception as error:  # any fault of ctok; the request must still be answered (law 5)
            self._degraded = f"Claude tokens are guessed from bytes, because ctok does not load: {error}."
        self._loaded = True

    def _safely(self, measure: Callable[[str], int], text: str) -> int:
        try:
            return measure(text)
        except Exception as error:  # law 5: ctok may fail on a run that was never tested
            self._degraded = f"A text's Claude tokens were guessed from bytes, as ctok failed: {error!r}."
            return guarded(text)


# ---- counting: runs and their prices --------------------------------------------------------------

# Characters that are cut into runs at once, to bound memory. Each segment boundary may add a token or two.
SEGMENT: Final = 1 << 16
# A segment with more than PRICED_RUNS distinct runs is close to noise. It is counted from SAMPLED_RUNS of its runs:
# 0.5 % off on base64, 3 % at worst. Pricing a run takes 2 to 10 µs, so a new text takes at most 60 ms per 100 KB.
PRICED_RUNS: Final = 7_000
SAMPLED_RUNS: Final = 4_096
# Cached prices in each of two generations. A run has at most 100 characters: both take 10 MB, at worst 25 MB.
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
        """Counts few slices, and doubles their number while they disagree. Counts the whole text if that is cheap or
        if the slices would cover half of it, so always below 6,144 characters.
        """
        text = text.replace("\r", "")
        weight, sample = weigh(text, TYPICAL), Sample((), ())
        while (slices := 2 * sample.slices or FIRST_SLICES) * SLICE * 2 <= len(text):
            sample += self._sample(text, slices - sample.slices, seed=weight * slices)
            if sample.thin:
                break
            if sample.error <= TOLERANCE or slices >= MOST_SLICES:
                return round(sample.rate * weight)
        return self.count(text)

    def _tokens(self, text: str, start: int, end: int) -> int:
        runs = self.pattern.findall(text, start, end)
        quotes = len(_OPENING_QUOTE.findall(text, start, end))
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

    def _sample(self, text: str, slices: int, seed: int) -> "Sample":
        """Takes a slice at a random place in each of `slices` equal strata. Regular steps could coincide with
        records of equal length."""
        place = random.Random(seed).random  # noqa: S311
        stride = len(text) / slices
        starts = (int(i * stride + place() * (stride - SLICE)) for i in range(slices))
        parts = [text[start : start + SLICE] for start in starts]
        tokens = tuple(self._tokens(part, 0, SLICE) - CUT_RUNS for part in parts)
        return Sample(tokens, tuple(weigh(part, TYPICAL) for part in parts))


# ---- estimating: slices and their weights ---------------------------------------------------------

# In characters.
SLICE: Final = 128
FIRST_SLICES: Final = 24
MOST_SLICES: Final = 192
# Slices agree well enough at this relative standard error.
TOLERANCE: Final = 0.03
# Tokens that a slice counts too many, because it cuts a run at each end.
CUT_RUNS: Final = 0.5
# A text with fewer tokens per character is mostly blanks and repeated signs. It is counted in full, which is quick:
# most of its tokens may be in a few places that no slice hits.
THIN: Final = 0.15


@dataclass(frozen=True, slots=True)
class Sample:
    """Tokens and weights of slices of a text. Tokens per weight vary far less between parts of a document than
    tokens per character.
    """

    tokens: tuple[float, ...]
    weights: tuple[int, ...]

    def __add__(self, other: "Sample") -> "Sample":
        return Sample(self.tokens + other.tokens, self.weights + other.weights)

    @property
    def slices(self) -> int:
        return len(self.tokens)

    @property
    def rate(self) -> float:
        """Tokens per weight."""
        return sum(self.tokens) / sum(self.weights)

    @property
    def error(self) -> float:
        """The relative standard error of the rate."""
        rate, slices = self.rate, self.slices
        spread = sum((t - rate * w) ** 2 for t, w in zip(self.tokens, self.weights, strict=True))
        return math.sqrt(spread * slices / (slices - 1)) / sum(self.tokens)

    @property
    def thin(self) -> bool:
        return sum(self.tokens) < THIN * SLICE * self.slices


# Tokens per UTF-8 byte, by kind of byte: typical, and at most. A lead byte stands for its script.
# Both columns were fitted to ctok's counts of 1,431 texts in 20 classes (JSON, logs, CSV, ids, code, prose,
# translations into 60 languages) and 300 mixtures of them; the second also to 80 extremes (noise, rare scripts).
# Typical: least squares of the relative error; within 20 % on 94 % of the texts.
# At most: the lowest linear bound that none of the texts exceeds, rounded up. It does not hold for long repeats of
# the commonest letters ("aaaa", "onesto"), and was at worst 8 % too low on 3,536 further texts. The bound
# of "bfgkvwy" was raised because the sum was 12 % too low on a Welsh text.
_BYTES: Final = (
    (b"aeinorst", 0.05, 0.35),
    (b"cdhlmpu", 0.7, 0.6),
    (b"bfgkvwy", 1.3, 1.2),
    (b"jqxz", 2.0, 2.25),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0.95, 1.0),
    (b"0123456789", 0.6, 1.25),
    (b" ", 0.1, 0.1),
    (b"\n\t", 1.2, 1.0),
    (b"\"'*-=_#~<>|.", 0.45, 0.6),
    (b"!$%&()+,/:;?@[]^`{}\\", 1.1, 1.6),
    (range(0x80, 0xC0), 0.4, 0.5),  # continuation bytes
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
# Weights are multiples of this many tokens. Every byte weighs at least one unit.
_UNIT: Final = 0.05
# adler32 sums bytes at the speed of C: its lower half is their sum modulo 65,521. Blocks of this size stay below.
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
    """The sum of the `weights` of the text's UTF-8 bytes, in twentieths of a token. Takes 0.1 ms per 100 KB."""
    total = 0
    for start in range(0, len(text), SEGMENT):
        weighed = text[start : start + SEGMENT].encode("utf-8", "surrogatepass").translate(weights)
        blocks = (weighed[at : at + _BLOCK] for at in range(0, len(weighed), _BLOCK))
        total += sum(zlib.adler32(block, 0) & 0xFFFF for block in blocks)
    return total


def guarded(text: str) -> int:
    """Claude tokens without ctok: the formula or the upper bound by bytes, whichever is larger. The result is 1.4
    times the true count at the median, up to 2 times on CJK and logs, and 4 times on rare scripts.
    """
    return max(formula(text), math.ceil(weigh(text, AT_MOST) * _UNIT))


# ---- ctok -----------------------------------------------------------------------------------------


class Ctok:
    """Everything that Sluice uses of ctok 1.3, most of it private:

    - `tile(text, model)`: its first result is a text's count without the overhead of a message;
    - the model's reverse trie: nested dicts from a piece's last character to its first, with a key `None` at the end;
    - the byte pieces of a character that has no piece of its own: its UTF-8 bytes, some of them joined;
    - the spelling of words: between two marks; a capitalised word is lowercased (`mark_case`) after a third mark;
      the spelling of punctuation: with those marks where it is next to a space;
    - `classify` and `_hard_kind`: the character classes that pieces do not cross; `nfc`: the normalization;
    - `token_count`: the public count of a whole message, to check the others against.
    """

    VERSION: Final = "4.8"
    FRAME: Final = 6  # tokens of a message besides its text

    def __init__(self) -> None:
        from ctok import token_count
        from ctok.constants import BOW_G, EOW_G, SHIFT_G
        from ctok.engine import tile
        from ctok.main import _family, _model
        from ctok.normalize import _hard_kind, classify, mark_case, nfc

        self._model: Any = _model(_family(self.VERSION))
        self._tile: Callable[[str, Any], tuple[int, Any]] = tile
        self._trie: dict[str | None, Any] = self._model.trie.root
        self._joined_bytes = {bytes.fromhex(piece) for piece in self._model.bytes.tokens}
        self._byte_prices = Prices(self._price_by_bytes)
        self._open_mark: str = BOW_G
        self._close_mark: str = EOW_G
        self._capital_mark: str = SHIFT_G
        self._mark_case: Callable[[str, None], str] = mark_case
        self._normalized: Callable[[str], str] = functools.partial(nfc, fold_quotes=self._model.fold_quotes)
        self._class: Callable[[str], str] = inspect.unwrap(classify)  # without its cache of 40,000 entries
        self._hard_kind: Callable[[str], str] = _hard_kind
        self._message_count: Callable[[str, str], int] = token_count
        self.letters, self.ideographs, signs = self._characters_by_kind()
        sign = rf"[!-/:-@\[-`{{-~{signs}]"
        self._word = re.compile(rf"[A-Za-z{self.letters}]+")
        self._number_or_ideograph = re.compile(rf"(?:[0-9]+|[{self.ideographs}])\ ?")
        self._blanks_and_signs = re.compile(rf"[ \t\n]*(?:{sign}+(?:\ {sign}+)*(?:\ ?[0-9]+)?\ ?)?")

    def count(self, text: str) -> int:
        """The exact count. Takes 200 ms per 100 KB."""
        return self._message_count(text, self.VERSION) - self.FRAME

    def price(self, run: str) -> int:
        """Tokens of a run that `run_pattern` has cut out of a text."""
        if not run:
            return 1  # a space that counts as a token, see run_pattern
        spelled = self._spelled(run)
        if spelled is None:
            spelled = self._spelled(self._normalized(run))
        return self.price_between_neighbours(run) if spelled is None else self._fewest_pieces(spelled)

    def _spelled(self, run: str) -> str | None:
        """ctok's spelling of a word, a number, an ideograph, signs or blanks. None for the few other runs."""
        core = run.strip(" ")
        if not unicodedata.is_normalized("NFC", run):
            return None
        if self._word.fullmatch(core):
            return self._spelled_word(core)
        if self._number_or_ideograph.fullmatch(run):
            return run
        return self._spelled_signs(run) if self._blanks_and_signs.fullmatch(run) else None

    def _spelled_word(self, word: str) -> str:
        if word[0].islower() or (word.isascii() and not word.istitle()):
            return self._open_mark + word + self._close_mark
        marked = self._mark_case(word, None)
        if marked.startswith(self._capital_mark):
            return self._capital_mark + self._open_mark + marked.removeprefix(self._capital_mark) + self._close_mark
        return self._open_mark + marked + self._close_mark

    def _spelled_signs(self, run: str) -> str:
        """A space next to a sign becomes part of the sign's mark; any other space stays."""
        core = run.lstrip(" \t\n")
        blanks = run[: len(run) - len(core)]
        if not core:
            return blanks
        signs = core.rstrip(" 0123456789")
        number = core[len(signs) :]
        before = ("" if blanks == " " else blanks) + (self._open_mark if blanks.endswith(" ") else "")
        after = (self._close_mark if number.startswith(" ") else "") + ("" if number == " " else number)
        return before + signs.replace(" ", self._close_mark + self._open_mark) + after

    def price_between_neighbours(self, run: str) -> int:
        """The price of any run, by ctok's own tiling. A run's spelling depends on its neighbours, so it is counted
        between two characters of another class that cost one token each: "a" next to a space or a digit, else "1".
        """
        run = self._normalized(run)
        if not run:
            return 0
        before = "a" if (run[0] == " " and run.strip(" ")) or run[0].isdecimal() else "1"
        after = "a" if run[-1] == " " or run[-1].isdecimal() else "1"
        return self._tile(before + run + after, self._model)[0] - 2

    def _fewest_pieces(self, spelling: str) -> int:
        """Does what ctok's tiling does, without normalization and the list of pieces, in a tenth of the time."""
        fewest = [0]
        for end, last in enumerate(spelling):
            start, node = end, self._trie.get(last)
            alone = 1 if node is not None and None in node else self._byte_prices[last]
            best = fewest[end] + alone
            while node is not None and start > 0:
                start -= 1
                node = node.get(spelling[start])
                if node is not None and None in node:
                    best = min(best, fewest[start] + 1)
            fewest.append(best)
        return fewest[-1]

    def _price_by_bytes(self, character: str) -> int:
        encoded, fewest = character.encode(), [0]
        for end in range(1, len(encoded) + 1):
            joined = (fewest[start] for start in range(end - 1) if encoded[start:end] in self._joined_bytes)
            fewest.append(1 + min([fewest[-1], *joined]))
        return fewest[-1]

    def _characters_by_kind(self) -> tuple[str, str, str]:
        """Non-ASCII characters as contents of regular expression sets: letters, characters that stand alone (Han,
        Hangul, emoji), and signs. All others need normalization or have rules of their own.
        """
        kinds: dict[str, list[int]] = {"letter": [], "ideograph": [], "sign": [], "other": []}
        for code in (*range(0xA0, 0x300), *range(0x370, 0xD800), *range(0xF900, 0x10000)):
            kinds[self._kind(chr(code))].append(code)
        ideographs = _ranges(kinds["ideograph"]) + r"\U00010000-\U0010ffff"
        return _ranges(kinds["letter"]), ideographs, _ranges(kinds["sign"])

    def _kind(self, character: str) -> str:
        kind = self._class(character)
        if kind == "hard":
            kind = self._hard_kind(character)
        if kind == "punct" and unicodedata.category(character) in ("Mn", "Me", "Cn"):
            return "other"
        return {"wordy": "letter", "letter": "ideograph", "punct": "sign"}.get(kind, "other")


def _ranges(codes: Sequence[int]) -> str:
    known = set(codes)
    starts = (code for code in codes if code - 1 not in known)
    ends = (code for code in codes if code + 1 not in known)
    return "".join(rf"\u{start:04x}-\u{end:04x}" for start, end in zip(starts, ends, strict=True))


_ACCENTS: Final = r"\u0300-\u036f"
_SURROGATES: Final = r"\ud800-\udfff"
# A quote between a space and a word costs one token more than the price of its run.
_OPENING_QUOTE: Final = re.compile(r"\ '(?=[A-Za-z\u00c0-\u1fff])(?<=[^0-9\s\u3400-\ud7ff\U00010000-\U0010ffff]..)")


def run_pattern(letters: str, ideographs: str) -> re.Pattern[str]:
    """A pattern that cuts any text into runs whose prices add up. Each character is in exactly one run. Matching takes
    linear time: all repetitions are bounded, so a very long run is cut into windows. The commonest runs come first.

    Punctuation is spelled differently next to a space, so its run includes the spaces around it and a number after
    them. A single space is free between words and punctuation, but costs a token next to a digit or an ideograph.
    A number or an ideograph therefore includes the space between it and a word, and an empty run stands for a space
    that is already in the run of the punctuation.

    Everything after a repetition is optional, so no repetition backtracks. The pattern has no possessive quantifiers,
    because `re` gets them wrong before Python 3.11.5 (gh-106052). Optional groups are written `(?:…|)`, which `re`
    matches faster than `(?:…)?` and `{0,3}`: this saves 10 % of the time of a count.
    """
    letter, ideograph = rf"[A-Za-z{letters}{_ACCENTS}]", rf"[{ideographs}{_SURROGATES}]"
    sign = rf"[^A-Za-z{letters}{_ACCENTS}{ideographs}{_SURROGATES}0-9\s]"
    space = r"[\ \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\x1c-\x1f]"
    newline = r"[\t\n\r\f\v\x85\u3000]"
    number = rf"[0-9]{{1,3}}(?:{space}(?={letter})|)"
    more = rf"{space}{sign}{{1,16}}"
    signs = rf"{sign}{{1,16}}(?:{more}(?:{more}(?:{more}|)|)|)(?:{space}(?:{number}|(?=\S))|{number}|)"
    return re.compile(
        rf"""
          {letter}{{1,64}}
        | {space}{letter}{{1,64}}
        | '(?:[stdm]|ll|re|ve)(?!{letter})
        | {signs}
        | {number}
        | (?<={sign}{space})(?={ideograph})
        | {ideograph}(?:{space}(?={letter}))?
        | (?:(?<=[0-9])|(?<={ideograph}))(?={space}{sign})
        | (?:{newline}{{1,16}}{space}{{0,16}}|{space}{{1,16}})(?:{signs}|)
        """,
        re.VERBOSE,
    )


# A text with characters of every class, and the count of ctok 1.3.0. If ctok or the sum of the runs gives another
# count, ctok's internals have changed and no price can be trusted.
KNOWN_TEXT: Final = (
    '{"id":43000003,"guestName":"Müller, Ana","total":1234.50,"notes":"It\'s late: 22:15 → 你好 😀"}\n'
    "    - return self.price_of(run)  # Привет, สวัสดี\n2026-11-20T10:00:01Z WARN aGVsbG8gd29ybGQ= 7f3a"
)
KNOWN_COUNT: Final = 115


def load_counter() -> RunCounter:
    """A counter with ctok's vocabulary. Raises ImportError if ctok is missing, and ValueError or any error of ctok's
    internals if it is not the version that this module was written for.
    """
    ctok = Ctok()
    counter = RunCounter(run_pattern(ctok.letters, ctok.ideographs), ctok.price)
    whole, by_runs = ctok.count(KNOWN_TEXT), counter.count(KNOWN_TEXT)
    if not whole == by_runs == KNOWN_COUNT:
        raise ValueError(f"its check text costs {whole} tokens, {by_runs} by runs, and not {KNOWN_COUNT}")
    return counter


claude: Final[Ruler] = ClaudeRuler()


@functools.cache
def _ctok() -> Ctok:
    return Ctok()


def exact(text: str) -> int:
    """ctok's own count of the whole text, without the overhead of a message, for audits (FR-014). Takes 200 ms per
    100 KB. Raises ImportError if ctok is missing, and any error of ctok's internals.
    """
    return _ctok().count(text)
