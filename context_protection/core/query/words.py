"""`search`: a row of a list matches if one of its texts contains all words, in any order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from context_protection.core import canonical, patterns
from context_protection.core.errors import shown
from context_protection.core.folding import fold_for_search
from context_protection.core.json_values import texts
from context_protection.core.patterns import SECONDS, Pattern
from context_protection.core.shapes import Shape

PARAMETER = "search"
MAX_ALONE = 6  # words of a search that are counted one by one if it finds nothing


@dataclass(frozen=True)
class SearchWords:
    """The words of a search. Case and accents are ignored."""

    text: str
    pattern: Pattern

    @classmethod
    def of(cls, text: str) -> "SearchWords":
        """Raises InvalidArgument if `text` is too long, or has no word."""
        return cls(text, patterns.words(text, PARAMETER))

    @property
    def each(self) -> list["SearchWords"]:
        """The words one by one."""
        return [SearchWords.of(word) for word in dict.fromkeys(self.text.split()) if fold_for_search(word)]

    def notes_of_each(self, unit: str, count: Callable[["SearchWords"], int | None]) -> list[str]:
        """A note for a search of several words that found nothing: how many of the rows or lines (`unit`) have each
        word. `count` returns None if there are too many to count."""
        each = self.each
        if len(each) < 2:
            return []
        alone = [f"{shown(word.text)} {_written(count(word))}" for word in each[:MAX_ALONE]]
        which = "each word" if len(each) <= MAX_ALONE else f"each of the first {MAX_ALONE} words"
        return [f"{unit} with {which} of search alone: {', '.join(alone)}."]

    def are_in(self, row: dict[str, Any], shape: Shape) -> bool:
        """Whether any single text of the whole row contains all words. Fields hidden in lists are not searched."""
        every = canonical.renamed(row, shape)
        if self.pattern.rules_out("\n".join(texts(every))):  # true for most rows, and quicker than the search below
            return False
        shown = canonical.renamed(shape.as_row(row)[0], shape)
        searched = {name: value for name, value in shown.items() if name not in shape.unsearched}
        return any(self.pattern.find(text, SECONDS) for text in texts(searched))


def _written(count: int | None) -> str:
    return "not counted" if count is None else f"{count:,}"
