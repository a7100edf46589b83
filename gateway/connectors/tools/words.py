"""Words of tools and of queries: how names are split, a word's root, and which words are ignored."""

import re
import unicodedata
from functools import lru_cache

from gateway.catalog.operation import Operation
from gateway.catalog.plurals import REMEMBERED, singular
from gateway.connectors.tools.synonyms import VERBS

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# Words of a query that do not name a tool.
_STOP = (
    "a an the of for to in on at by with from and or as than that this these those there here it its my our your their "
    "his her i we you they he she me us them is are was were be been being am do does did done doing can could should "
    "would will shall may might must want wants need needs please how what which who whom whose with when where why if "
    "then so not no yes just only some any every each all have has had having about into out up off over under again "
    "between let lets give tell got s t re ve ll m d one ones"
)
STOP_WORDS = frozenset(_STOP.split())
KNOWN_VERBS = frozenset().union(*VERBS)
# Words for the user who asks.
MINE = frozenset({"me", "current", "authenticated", "self", "own"})
_NO_RESOURCE = frozenset({"api", "tools", "rest", "json", "xml"})


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents. Names in camelCase and snake_case are split."""
    plain = text if text.isascii() else _without_accents(text)
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", plain))]


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(character for character in parts if not unicodedata.combining(character))


# -- Roots ------------------------------------------------------------------------------------------

_ENDED = (
    "ations ation itions ition ions ion ings ing ments ment ances ance ants ant ers er ors or ees ee ed al es e y s"
)
_ENDINGS = _ENDED.split()
_PAST = {
    **{"bought": "buy", "given": "give", "held": "hold", "made": "make", "paid": "pay", "sent": "send", "sold": "sell"},
    **{"spent": "spend", "taken": "take", "written": "write"},
}
# Roots that change before an ending: subscription, subscribe; permission, permit; registration, register.
_CHANGED = (
    ("ript", "rib"),
    ("miss", "mit"),
    ("solut", "solv"),
    ("cept", "ceiv"),
    ("cis", "cid"),
    ("pans", "pand"),
    ("str", "st"),
)
_SHORTEST_ROOT = 4  # letters
_OF_VERBS = frozenset({"ing", "ings", "ed"})
_LEAVE_THREE = _OF_VERBS | {"ment", "ments", "e"}


@lru_cache(REMEMBERED)
def root(word: str) -> str:
    """The part that related words have in common: follow, of follows, following and followers."""
    one = _PAST.get(word) or singular(word)
    for ending in _ENDINGS:
        if one.endswith(ending) and len(one) - len(ending) >= _SHORTEST_ROOT - (ending in _LEAVE_THREE):
            one = one.removesuffix(ending)
            if ending in _OF_VERBS:
                return root(one)  # registered, register
            break
    for ending, instead in _CHANGED:
        if one.endswith(ending):
            return one.removesuffix(ending) + instead
    return one[:-1] if len(one) > 3 and one[-1] == one[-2] else one


# -- Words of a tool --------------------------------------------------------------------------------


def name_words(operation: Operation) -> list[str]:
    """The words of the tool's name, without the name of an imported API before them."""
    every = words(operation.name)
    prefix = words(operation.tags[0]) if operation.route and operation.tags else []
    return every[len(prefix) :] if prefix and every[: len(prefix)] == prefix else every


def nouns(operation: Operation) -> list[str]:
    """The words of the tool's name without the leading verb, in the singular."""
    telling = (word for place, word in enumerate(name_words(operation)) if place or word not in KNOWN_VERBS)
    return [singular(word) for word in telling if word not in STOP_WORDS]


def verbs(operation: Operation) -> list[str]:
    """Synonyms of the verb in the tool's name, without the words of the name itself."""
    own = name_words(operation)
    groups = [group for group in VERBS if own[:1] and own[0] in group]
    groups = groups or [group for group in VERBS if group.intersection(own)]
    return sorted(set().union(*groups).difference(own))


_ENDING = re.compile(r"\.(?:json|xml)$")
_VERSIONED = re.compile(r"v\d[\w.]*|\d{4}-\d\d-\d\d|\d+", re.IGNORECASE)


def segments(path: str) -> list[list[str]]:
    """The words of each segment of "/v2/users/{id}/keys.json" that names something: [users], [keys]."""
    named = [each for each in path.split("?")[0].split("/") if each and "{" not in each and each not in _NO_RESOURCE]
    return [words(_ENDING.sub("", each)) for each in named if not _VERSIONED.fullmatch(each)]


def route_words(route: str) -> list[str]:
    """ "GET /v2/users/{id}/keys.json": users, keys."""
    return [word for each in segments(route.partition(" ")[2]) for word in each]


def path_words(operation: Operation) -> list[str]:
    """The words of its endpoint, without versions, placeholders and the tool's own name."""
    parts = operation.endpoint.split("/")
    return [word for each in segments("/".join(part for part in parts if part != operation.name)) for word in each]
