"""Parses a query of a tool search: its verb, its objects, and what owns or contains them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gateway.catalog.plurals import singular
from gateway.connectors.tools.intent import Does, asked_by
from gateway.connectors.tools.synonyms import GENERIC, NOUNS, plainly
from gateway.connectors.tools.words import KNOWN_VERBS, MINE, STOP_WORDS, words

MAX_WORDS = 24  # words of a query that are searched for
# Weights of words. All others weigh 1.
FAINT = 0.3  # a vague word, or one that describes the content of the rows
GENERIC_VERB = 0.25  # a verb that most APIs have: show, create
OTHER_VERB = 0.5  # any other verb, because its object tells more about the tool


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that hardly show which tool is meant, although some tools have them in their names.
_VAGUE = _set(
    "last latest recent recently new newest old first next previous current currently active open free own other "
    "different same several running closed many more most while still now once there"
)
_DETAILS = _set("detail details info information")
_POLITE = _set("please i we want to need can could you would let me us lets how do id")
_QUESTIONS = _set("which what who whose whom where when is are has have how does do did it let")
_ONE = _set("a an this that one")
_DETERMINERS = _ONE | _set(
    "the my our your these those all some any every another two both several its their me someone somebody"
)
_SEARCHING = _set("find search filter query")
_PARTICLES = _set("out off up down back over away")
_BEFORE_OWNERS = _set("of in on at for by from into onto with within to inside under")
_NOUNS = frozenset().union(*NOUNS)
_MINE = re.compile(r"\b(?:i|me|my|mine|our|we)\b", re.IGNORECASE)
_OWNER = re.compile(r"\b(\w+)(?:['’]s|s['’])\s", re.IGNORECASE)
_SAYING = r"about|mention(?:s|ing)?|called|named|titled|contain(?:s|ing)|(?:that|which) (?:is|are|was|were|has|have)"
_TOPIC = re.compile(rf"\b(?:{_SAYING})\b(.+)", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d{3,}\b")
_ASKER: Mapping[str, float] = {**dict.fromkeys(sorted(MINE), 1.0), "user": 0.6, "member": 0.6}
_PEOPLE: Mapping[str, float] = dict.fromkeys(("member", "person", "user"), 1.0)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parts of a query.

    `terms`: the words that may name a tool, with their weights, which ignore how rare a word is among the tools.
    `wanted`: the words for the object: "members" in "members of a group".
    `verb`: "" if the query has none.
    `asked`: the intents of the verb.
    `agent`: the verb of a question for people: "follows" in "who follows me".
    `people`: the query begins with "who".
    `implied`: words that the query implies but does not contain, with their weights: "me" for "my videos".
    `many`, `one`: the query wants a list, or a single record.
    `pairs`: each two neighbouring words of the query.
    """

    terms: Mapping[str, float]
    wanted: frozenset[str] = frozenset()
    verb: str = ""
    asked: frozenset[Does] = frozenset({Does.READ})
    agent: str = ""
    people: bool = False
    implied: Mapping[str, float] = field(default_factory=dict)
    many: bool = False
    one: bool = False
    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, query: str) -> "ParsedQuery":
        plain = plainly(query)
        all_words = words(plain)
        owners = {word.lower() for word in _OWNER.findall(plain)} - _QUESTIONS
        start, verb = _verb(all_words, owners)
        asked = _asked(verb, all_words[start + 1 : start + 2]) if verb else frozenset({Does.READ})
        about = _about(plain)
        wanted = _wanted(all_words[start + bool(verb) :], owners | about)
        many = (bool(wanted) and singular(wanted[-1]) != wanted[-1]) or "all" in all_words
        counts = dict.fromkeys(_VAGUE | _DETAILS | about, FAINT) | {
            verb: GENERIC_VERB if verb in GENERIC else OTHER_VERB
        }
        people = all_words[:1] == ["who"]
        is_indefinite = verb not in _SEARCHING and not _ONE.union(_DETAILS).isdisjoint(all_words)
        return cls(
            terms={each: counts.get(each, 1.0) for each in query_words(query)[:MAX_WORDS]},
            wanted=frozenset(wanted),
            verb=verb,
            asked=asked,
            agent=_agent(all_words),
            people=people,
            implied={**(_PEOPLE if people else {}), **(_ASKER if _MINE.search(query) else {})},
            many=many,
            one=bool(_NUMBER.search(query)) or (is_indefinite and not many),
            pairs=tuple(pairwise(all_words)),
        )


def query_words(query: str) -> list[str]:
    """The words of a query without stop words and numbers, each once. If nothing is left, all of its words."""
    every = list(dict.fromkeys(words(plainly(query))))
    telling = [word for word in every if word not in STOP_WORDS and not word.isdecimal()]
    return telling or every


def _verb(all_words: Sequence[str], owners: set[str]) -> tuple[int, str]:
    """The position of the first word after polite ones, and that word if it is a verb, else "".

    A word that may also be a noun counts as a verb only if a determiner, a particle or a preposition follows: it is
    a verb in "comment on an issue", and a noun in "comment of a user"."""
    start = next((place for place, word in enumerate(all_words) if word not in _POLITE), len(all_words))
    first, after = all_words[start : start + 1], all_words[start + 1 :]
    is_question = all_words[:1] == ["how"] and start < 2
    if not first or is_question or first[0] in STOP_WORDS or singular(first[0]) != first[0]:
        return start, ""
    word, followers = first[0], _DETERMINERS | _PARTICLES | owners | (_BEFORE_OWNERS - {"of"})
    is_followed = bool(after) and after[0] in followers
    if word in _NOUNS and word in KNOWN_VERBS and after and singular(after[0]) == after[0]:
        is_followed = not followers.isdisjoint(after)  # log time on an issue
    is_noun = word in _NOUNS or word in _VAGUE
    return start, word if is_followed or (word in KNOWN_VERBS and not is_noun) else ""


def _asked(verb: str, after: Sequence[str]) -> frozenset[Does]:
    """The intents of the verb. A verb that may create something does so before an indefinite article: open a ticket."""
    asked = asked_by(verb)
    is_new = Does.CREATE in asked and after[:1] in (["a"], ["an"], ["another"])
    return asked - {Does.READ, Does.UPDATE} if is_new else asked


def _wanted(after_verb: Sequence[str], others: set[str] | frozenset[str]) -> list[str]:
    """The words for the object: open, issues in "the open issues of a repository"; password in "a user's password"."""
    end = next((place for place, word in enumerate(after_verb) if word in _BEFORE_OWNERS), len(after_verb))
    return [word for word in after_verb[:end] if word not in STOP_WORDS | _DETAILS and word not in others]


def _about(plain: str) -> frozenset[str]:
    """The words that describe the content of the rows: budget in "articles about the budget", shipped in "orders that
    were shipped". Empty if the query does not name the rows themselves."""
    topic = _TOPIC.search(plain)
    before = set(words(plain[: topic.start()])) if topic else set()
    return frozenset(words(topic[1])) if topic and before - STOP_WORDS - _DETAILS - KNOWN_VERBS else frozenset()


def _agent(all_words: Sequence[str]) -> str:
    """The verb of a question for people: follows in "who follows me", watching in "who is watching"."""
    if all_words[:1] != ["who"]:
        return ""
    after = [word for word in all_words[1:3] if word not in ("is", "has", "have", "are")]
    return after[0] if after and after[0] not in STOP_WORDS else ""
