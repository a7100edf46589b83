"""The meanings of a query's words: the words of tools that they stand for."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from gateway.catalog.plurals import singular
from gateway.connectors.tools.parsed_query import ParsedQuery
from gateway.connectors.tools.synonyms import NOUNS, VERBS
from gateway.connectors.tools.words import MINE, root

# The weight of a related word, relative to the query's own word.
SAME_ROOT = 0.85
SYNONYM = 0.8
BESIDE = 0.6  # a synonym, if some tool has the query's own word
SYNONYM_ROOT = 0.6
BEGINNING = 0.6
SIMILAR_SPELLING = 0.6
COMPOUND = 0.5  # a word that begins or ends with the query's word: mypermissions, for permissions
OTHER_THAN_AGENT = 0.7  # a word such as "following", where followers are wanted

SHORTEST_PART = 4  # letters of a word that a compound begins or ends with
SHORTEST_BEGINNING = 3  # letters
MAX_SIMILAR = 3  # known words that are tried for a misspelt one
LOWEST_RATIO = 0.72  # lowest difflib ratio of two words with a similar spelling
_AGENT = re.compile(r"(?:er|or|ant|ee)$")


def _by_word(groups: Iterable[frozenset[str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in groups:
        ones = {singular(word) for word in group}
        for word in group | ones:
            found.setdefault(word, set()).update(ones)
    return {word: frozenset(others - {singular(word)}) for word, others in found.items()}


_RELATED = _by_word((*VERBS, *NOUNS, MINE))
_RELATED_BY_ROOT = {root(word): others for word, others in _RELATED.items()}
_NONE: frozenset[str] = frozenset()


class Vocabulary:
    """The words that some tools have, in the singular."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = dict.fromkeys(known)
        self._roots: dict[str, list[str]] = {}
        self._compounds: dict[str, list[str]] = {}
        self._spelt: dict[str, list[str]] = {}
        for word in self._known:
            self._roots.setdefault(root(word), []).append(word)
            for part in _parts(word):
                self._compounds.setdefault(part, []).append(word)
            for trigram in _trigrams(word):
                self._spelt.setdefault(trigram, []).append(word)

    def meant_by(self, parsed: ParsedQuery) -> Sequence[Mapping[str, float]]:
        """For each term of the query, the known words that it can mean, with their weights."""
        meant = {term: self._meant(term) for term in parsed.terms}
        for word, after in parsed.pairs:
            for joined in (word + after, word + singular(after)):  # cron jobs: cronjob
                if joined in self._known:
                    meant.update({term: meant[term] | {joined: 1.0} for term in (word, after) if term in meant})
        if parsed.agent in meant:
            meant[parsed.agent] = _of_agent(parsed.agent, meant[parsed.agent])
        return list(meant.values())

    def implied_by(self, parsed: ParsedQuery) -> Mapping[str, float]:
        """The known words that the query implies, with their weights."""
        return {word: share for word, share in parsed.implied.items() if word in self._known}

    def _meant(self, word: str) -> dict[str, float]:
        """The word itself, words with its root, synonyms and compounds. Without any of these: words that begin with it,
        and then words with a similar spelling."""
        one = singular(word)
        meant: dict[str, float] = {}
        is_known = one in self._known
        for other in (_RELATED.get(word, _NONE) | _RELATED.get(one, _NONE)) - {one}:
            self._add(meant, other, BESIDE if is_known else SYNONYM, SYNONYM_ROOT)
        for other in _NONE if is_known else _RELATED_BY_ROOT.get(root(word), _NONE):
            self._add(meant, other, SYNONYM_ROOT, SYNONYM_ROOT * SAME_ROOT)
        self._add(meant, one, 1.0, SAME_ROOT)
        for known in self._compounds.get(one, ()):
            meant.setdefault(known, COMPOUND)
        if meant:
            return meant
        begun = [known for known in self._known if known.startswith(one)] if len(one) >= SHORTEST_BEGINNING else []
        return dict.fromkeys(begun, BEGINNING) or dict.fromkeys(self._like(one), SIMILAR_SPELLING)

    def _add(self, meant: dict[str, float], word: str, same: float, alike: float) -> None:
        """Adds the known words with the root of this one."""
        for known in self._roots.get(root(word), ()):
            meant[known] = max(meant.get(known, 0.0), same if known == word else alike)

    def _like(self, word: str) -> list[str]:
        """Known words with a spelling similar to this one, the most similar first."""
        shared: dict[str, int] = {}
        for trigram in _trigrams(word):
            for known in self._spelt.get(trigram, ()):
                shared[known] = shared.get(known, 0) + 1
        likely = sorted(shared, key=lambda known: (-shared[known], known))[:20]
        return difflib.get_close_matches(word, likely, n=MAX_SIMILAR, cutoff=LOWEST_RATIO)


def _of_agent(verb: str, meant: Mapping[str, float]) -> dict[str, float]:
    """The meanings of a verb in a question for people. In "who follows me", followers weigh more than following."""
    alike = {word for word in meant if root(word) == root(verb)}
    shares = {word: 1.0 if _AGENT.search(word) else OTHER_THAN_AGENT for word in alike}
    return {**meant, **shares}


def _parts(word: str) -> set[str]:
    """The beginnings and endings of a word that may be words themselves."""
    beginnings = {word[:place] for place in range(SHORTEST_PART, len(word) - 1)}
    return beginnings | {word[place:] for place in range(2, len(word) - SHORTEST_PART + 1)}


def _trigrams(word: str) -> set[str]:
    framed = f" {word} "
    return {framed[start : start + 3] for start in range(len(framed) - 2)}
