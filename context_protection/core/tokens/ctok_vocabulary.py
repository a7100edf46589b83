"""Claude's vocabulary, from the package ctok, and the runs that its tokens do not cross."""

import functools
import inspect
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final

from context_protection.core.tokens.run_counter import Prices, RunCounter
from context_protection.core.tokens.runs import inner_pattern, run_pattern

Trie = dict[str | None, Any]

_CONTROLS: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n"))
_THAI_AM: Final = "\u0e4d\u0e32"  # ctok composes these two, which NFC does not


class Ctok:
    """Everything that Sluice uses of ctok 1.3, most of it private:

    - `_document`: reads the vocabulary's file, and would keep it in memory;
    - `tile(text, model)`: its first result is a text's count without the overhead of a message;
    - the model's reverse trie: nested dicts from a piece's last character to its first, with a key `None` at the end;
    - the byte pieces of a character that has no piece of its own: its UTF-8 bytes, some of them joined;
    - the spelling: a word is between two marks, and a capitalised word is lowercased (`mark_case`) after a third mark;
      punctuation has the two marks where it is next to a space;
    - `classify` and `_hard_kind`: the character classes that pieces do not cross; `nfc`: the normalization;
    - `token_count`: the public count of a whole message, to verify the others.
    """

    VERSION: Final = "4.8"
    FRAME: Final = 6  # tokens of a message in addition to its text

    def __init__(self) -> None:
        from ctok import main, token_count
        from ctok.constants import BOW_G, EOW_G, SHIFT_G
        from ctok.engine import tile
        from ctok.main import _family, _model
        from ctok.normalize import _hard_kind, classify, mark_case, nfc

        main._document = _pieces_alone
        self._model: Any = _model(_family(self.VERSION))
        self._tile: Callable[[str, Any], tuple[int, Any]] = tile
        self._trie = self._model.trie.root = _merged(self._model.trie.root, {})
        self._joined_bytes = {bytes.fromhex(piece) for piece in self._model.bytes.tokens}
        self._byte_prices = Prices(self._price_by_bytes)
        self._open_mark: str = BOW_G
        self._close_mark: str = EOW_G
        self._capital_mark: str = SHIFT_G
        self._mark_case: Callable[[str, None], str] = mark_case
        self._nfc: Callable[[str], str] = functools.partial(nfc, fold_quotes=self._model.fold_quotes)
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

    def normalized(self, text: str) -> str:
        """The text as ctok reads it: characters are composed; control characters and characters of private use are
        removed, which joins their neighbours."""
        return text if _is_normal(text) else self._nfc(text)

    def price(self, run: str) -> int:
        """The tokens of a run that `run_pattern` found in a text."""
        if not run:
            return 1  # a space that counts as a token, see run_pattern
        spelled = self._spelled(run)
        if spelled is None:
            spelled = self._spelled(self.normalized(run))
        return self.price_between_neighbours(run) if spelled is None else self._fewest_pieces(spelled)

    def _spelled(self, run: str) -> str | None:
        """ctok's spelling of a word, a number, an ideograph, signs or white space. None for the few other runs."""
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
        """A space next to a sign becomes part of the sign's mark; other spaces are unchanged."""
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
        run = self.normalized(run)
        if not run:
            return 0
        before = "a" if (run[0] == " " and run.strip(" ")) or run[0].isdecimal() else "1"
        after = "a" if run[-1] == " " or run[-1].isdecimal() else "1"
        return self._tile(before + run + after, self._model)[0] - 2

    def _fewest_pieces(self, spelling: str) -> int:
        """Same result as ctok's tiling, in a tenth of the time: it neither normalizes nor lists the pieces."""
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
        if kind != "wordy" and unicodedata.category(character) in ("Mn", "Me", "Cn"):
            return "other"
        return {"wordy": "letter", "letter": "ideograph", "punct": "sign"}.get(kind, "other")


def _is_normal(text: str) -> bool:
    """Whether normalization surely returns the same text. Takes a thirtieth of its time."""
    if text.isascii():
        return len(text.encode().translate(None, _CONTROLS)) == len(text)
    return text.isprintable() and unicodedata.is_normalized("NFC", text) and _THAI_AM not in text


def _pieces_alone(filename: str) -> dict[str, Any]:
    """The vocabulary's file without the evidence for each piece, which would take 8 MB, and is not needed to count."""
    text = files("ctok").joinpath("data", filename).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text, object_hook=_unless_evidence)
    return document


def _unless_evidence(found: dict[str, Any]) -> dict[str, Any] | None:
    return None if isinstance(found.get("kind"), str) else found


def _merged(node: Trie, known: dict[frozenset[tuple[str | None, int]], Trie]) -> Trie:
    """The same trie with equal nodes stored once: 4,000 of 23,000 remain."""
    for letter, below in node.items():
        if below is not None:
            node[letter] = _merged(below, known)
    content = frozenset((letter, id(below)) for letter, below in node.items())
    return known.setdefault(content, dict(node))


def _ranges(codes: Sequence[int]) -> str:
    known = set(codes)
    starts = (code for code in codes if code - 1 not in known)
    ends = (code for code in codes if code + 1 not in known)
    return "".join(rf"\u{start:04x}-\u{end:04x}" for start, end in zip(starts, ends, strict=True))


# A text with characters of every class, and the count of ctok 1.3.0. If ctok or the sum of the runs gives another
# count, ctok's internals have changed and no price can be trusted.
KNOWN_TEXT: Final = (
    '{"id":43000003,"guestName":"Müller, Ana","total":1234.50,"notes":"It\'s late: 22:15 → 你好 😀"}\n'
    "    - return self.price_of(run)  # Привет, สวัสดี\n2026-11-20T10:00:01Z WARN aGVsbG8gd29ybGQ= 7f3a"
)
KNOWN_COUNT: Final = 115


@functools.cache
def _ctok() -> Ctok:
    """One for the counter and the audits: another would take 0.2 s while calls wait for the interpreter."""
    return Ctok()


def load_counter() -> RunCounter:
    """A counter with ctok's vocabulary. Raises ImportError if ctok is missing, and ValueError or any error of ctok's
    internals if it is not the version that this module was written for.
    """
    ctok = _ctok()
    kinds = ctok.letters, ctok.ideographs
    counter = RunCounter(run_pattern(*kinds), inner_pattern(*kinds), ctok.price, ctok.normalized)
    whole, by_runs = ctok.count(KNOWN_TEXT), counter.count(KNOWN_TEXT)
    if not whole == by_runs == KNOWN_COUNT:
        raise ValueError(f"its check text costs {whole} tokens, {by_runs} by runs, instead of {KNOWN_COUNT}")
    return counter


def exact(text: str) -> int:
    """ctok's own count of the whole text, without the overhead of a message, for audits (FR-014). Takes 200 ms per
    100 KB. Raises ImportError if ctok is missing, and any error of ctok's internals.
    """
    return _ctok().count(text)
