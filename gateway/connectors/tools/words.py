"""Words of tools and of queries: how names are split into words, and which words are synonyms."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# Words of a query that name no tool.
_STOP = (
    "a an the of for to in on at by with from and or as than that this these those there here it its my our your their "
    "his her i we you they he she me us them is are was were be been being am do does did done doing can could should "
    "would will shall may might must want wants need needs like please how what which who whom whose when where why if "
    "then so not no yes just only some any every each all have has had having about into out up off over under again "
    "between let lets give tell get got s t re ve ll m d"
)
STOP_WORDS = frozenset(_STOP.split())

# Words of a query that say little about which tool is meant, although some tools have them in their names.
_VAGUE = (
    "last latest recent recently new newest old first next previous current currently active open free own other "
    "different same several many more most while still now once there"
)
VAGUE = frozenset(_VAGUE.split())

# Verbs of APIs, and what people say instead. A tool is found by every word of every group that has its verb.
VERBS: Sequence[frozenset[str]] = [
    frozenset(group.split())
    for group in (
        "list find search browse show see query filter lookup overview",
        "get fetch read view show see open retrieve detail details lookup display check",
        "create add new make register insert book open write raise log",
        "update edit change modify set adjust correct alter amend fix rename patch replace close reopen resolve "
        "acknowledge mark",
        "delete remove erase drop discard destroy clear kick evict",
        "cancel delete remove abort void revoke invalidate stop withdraw destroy terminate end",
        "send deliver dispatch mail email notify forward publish post",
        "approve accept confirm authorize allow",
        "reject decline refuse deny",
        "assign allocate give hand grant apply",
        "pay settle transfer",
        "refund reimburse return repay",
        "count number total many",
        "download export fetch save",
        "upload import attach add",
        "close complete finish resolve end",
        "archive shelve retire",
        "restore recover undo undelete reopen",
        "enable activate start unblock unlock",
        "disable deactivate suspend pause stop block lock freeze hold",
        "block ban forbid bar",
        "move transfer relocate shift",
        "copy duplicate clone",
        "merge combine join unite duplicate",
        "start begin launch run trigger execute",
        "restart reboot reload",
        "terminate end dismiss fire quit",
        "schedule plan arrange",
        "track trace locate follow",
    )
]
# Nouns of APIs, and what people say instead.
NOUNS: Sequence[frozenset[str]] = [
    frozenset(group.split())
    for group in (
        "repo repository",
        "org organization organisation company",
        "user person people member account colleague employee staff worker somebody someone everybody",
        "member participant",
        "admin administrator",
        "message sms text chat post",
        "conversation channel thread chat",
        "call phone",
        "file document doc attachment",
        "folder directory",
        "item content file",
        "image picture photo avatar",
        "config configuration setting",
        "app application",
        "trash deleted bin",
        "bill invoice",
        "customer client contact",
        "ticket issue case",
        "server machine instance vm",
        "key token secret",
        "signature sign",
        "record entry",
        "database db",
        "permission access role",
        "event activity history log audit",
        "comment note",
        "label tag",
        "song track music",
        "band artist",
        "podcast show",
        "status state",
        "calendar schedule",
        "booking reservation appointment",
        "availability slot",
        "price cost fee",
        "payment charge",
        "dispute chargeback",
        "discount coupon voucher promotion",
        "revenue sales income",
        "wage salary pay",
        "timesheet timecard shift hours",
        "stock inventory",
        "product item catalog menu",
        "usage consumption used",
        "debt balance",
        "place region location shop store branch",
        "reply response answer thread comment",
        "version revision",
        "webhook hook",
        "snapshot backup",
        "pdf download",
        "pull pr",
    )
]
KNOWN_VERBS = frozenset().union(*VERBS)
DELETING, CANCELLING = VERBS[4], VERBS[4] | VERBS[5]
READING = VERBS[0] | VERBS[1] | {"count", "number", "total", "many", "download", "export"}

# Phrases for a verb, and phrases of time, which name no tool. They are replaced before a query is split into words.
PHRASES: Mapping[str, str] = {
    r"get rid of|throw (?:out|away)": "delete",
    r"look(?:ing)? (?:up|for)": "find",
    r"call off": "cancel",
    r"set up|sign up|put in": "create",
    r"(?:turn|switch)(?:ed)? on": "enable",
    r"(?:turn|switch)(?:ed)? off": "disable",
    r"how (?:many|much)": "count",
    r"money back|pay back|paid back": "refund",
    r"bring back": "restore",
    r"send back": "return",
    r"hand over": "assign",
    r"(?:last|next|this|each|every|per) (?:day|week|month|quarter|year)|today|yesterday|tomorrow": " ",
    r"(?:put|place)\b(.*)\bon hold": r"pause \1",
    r"who am i|about me|my (?:own )?(?:user|account|profile)": "current user",
    r"hang up": "end",
    r"how much (?:do i|do we|money) (?:owe|have)": "balance",
}
_PHRASES = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), verb) for pattern, verb in PHRASES.items()]


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents. Names in camelCase and snake_case are split."""
    plain = text if text.isascii() else _without_accents(text)
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", plain))]


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(character for character in parts if not unicodedata.combining(character))


def query_words(query: str) -> list[str]:
    """The words of a query that may name a tool, each once. If there are none, all of its words."""
    for pattern, verb in _PHRASES:
        query = pattern.sub(verb, query)
    every = list(dict.fromkeys(words(query)))
    telling = [word for word in every if word not in STOP_WORDS and not word.isdecimal()]
    return telling or every


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parts of a query: its words in the singular, each with its synonyms (`terms`); words that may also stand in a
    tool's names (`possible`); the nouns that it asks for, with their synonyms, such as members in "members of a group"
    (`wanted`); and words that say little about the tool (`faint`)."""

    terms: Mapping[str, frozenset[str]]
    possible: frozenset[str]
    wanted: frozenset[str]
    faint: frozenset[str]

    @classmethod
    def of(cls, terms: Sequence[str], query: str) -> "ParsedQuery":
        """`terms`: the words of the query that may name a tool."""
        begun = set(words(_WHOSE.split(query.strip(), maxsplit=1)[0]))
        wanted = frozenset().union(*({singular(word)} | related(word) for word in terms if word in begun))
        mine = MINE if _MINE.search(query) else frozenset()
        faint = frozenset(singular(word) for word in faint_words(terms, query))
        return cls({singular(word): related(word) for word in terms}, mine, wanted, faint)


def faint_words(terms: Sequence[str], query: str) -> frozenset[str]:
    """Vague words, unless the query begins with one (open a ticket), and the words of the topic that a row shall be
    about."""
    topic = _TOPIC.search(query)
    return (VAGUE.intersection(terms) - set(terms[:1])) | set(words(topic[1]) if topic else ())


MINE = frozenset({"me", "current", "authenticated", "self", "own"})
_MINE = re.compile(r"\b(?:i|me|my|mine|our|we)\b", re.IGNORECASE)


_WHOSE = re.compile(r"\b(?:of|in|on|for|by|from|with|to|that|about)\b", re.IGNORECASE)
_TOPIC = re.compile(r"\b(?:about|mention(?:s|ing)?|call(?:ed)|named|titled|contain(?:s|ing))\b(.+)", re.IGNORECASE)
_QUESTION = re.compile(r"\s*(?:which|what|who|whose|where|when|how (?:many|much)|is|are|has|have)\b", re.IGNORECASE)
_REQUEST = re.compile(r"\s*(\w+)\s+(?:an?|the|my|our|on|to|in)\s", re.IGNORECASE)


def is_question(query: str) -> bool:
    """Whether the query asks for something that is known: which stays were cancelled."""
    return _QUESTION.match(query) is not None


def is_request(query: str) -> bool:
    """Whether the query begins with a verb that is not known to read only: comment on an issue, star a repository. A
    plural is no verb: comments on an issue."""
    match = _REQUEST.match(query)
    first = match[1].lower() if match else ""
    return bool(first) and singular(first) == first and first not in STOP_WORDS | READING


def related(word: str) -> frozenset[str]:
    """The word's synonyms, in the singular."""
    one = singular(word)
    groups = (group for group in (*VERBS, *NOUNS) if word in group or one in group)
    mine = MINE if one in MINE else frozenset()
    return frozenset(singular(each) for group in groups for each in group).union(mine) - {one}


def route_words(route: str) -> list[str]:
    """ "GET /v2/users/{id}/keys.json": users, keys."""
    segments = route.partition(" ")[2].split("/")
    named = [each for each in segments if each and "{" not in each and each not in _NO_RESOURCE]
    plain = [_ENDING.sub("", each) for each in named if not _VERSIONED.fullmatch(each)]
    return [word for each in plain for word in words(each)]


_ENDING = re.compile(r"\.(?:json|xml)$")
_VERSIONED = re.compile(r"v\d[\w.]*|\d{4}-\d\d-\d\d", re.IGNORECASE)


_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}


def singular(word: str) -> str:
    """The singular of an English plural. Other words are returned unchanged."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("ss", "ss")):
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


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


# -- Synonyms from an API's own texts ---------------------------------------------------------------

_ALSO = r"(?:also(?: called| known as)?|aka|a\.k\.a\.|formerly|i\.e\.)"
_OTHERS = [
    re.compile(rf"[^\W\d_]+ \((?:{_ALSO} |or )?(?:an? |the )?([^\W\d_]+)\)", re.IGNORECASE),  # bookings (reservations)
    re.compile(rf"\b{_ALSO} (?:an? |the )?([^\W\d_]+)", re.IGNORECASE),  # suppliers, also called vendors
    re.compile(r"^(?:an? |the )?[^\W\d_]+ or ([^\W\d_]+)", re.IGNORECASE),  # cars or vans
]
_OPENING = re.compile(r"[^:.;,()]*")  # the start of a description, which says what the rows are
OPENING_WORDS = 4
_TOO_COMMON = STOP_WORDS.union({"returns", "gets", "gives", "lists", "shows", "one"}, *VERBS[:5])
_NO_RESOURCE = frozenset({"api", "tools"})


@dataclass(frozen=True, slots=True)
class Noun:
    """The synonyms of a noun (`also`) and the words of its description (`described`), from the tool that lists it."""

    also: frozenset[str]
    described: frozenset[str]


NOTHING = Noun(frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Nouns:
    """The nouns of an API, keyed by the nouns in the names of the tools that list them. Synonyms come from a list's
    description, which begins with what its rows are, and from its title, tags and endpoint."""

    by_nouns: Mapping[frozenset[str], Noun]

    @classmethod
    def of(cls, operations: Sequence[Operation]) -> "Nouns":
        taken = {noun for operation in operations for noun in nouns(operation)}
        found: dict[frozenset[str], Noun] = {}
        for operation in operations:
            if operation.kind is Kind.LIST and (named := frozenset(nouns(operation))):
                # A noun in another tool's name is not a synonym: things with tools of their own are distinct.
                also = _others(operation) - taken - _TOO_COMMON
                known = found.get(named, NOTHING)
                described = known.described.union(words(operation.description)) - _TOO_COMMON
                found[named] = Noun(known.also | also, described)
        return cls(found)

    def behind(self, operation: Operation) -> Noun:
        """The noun that the tool's name is about. The longest match wins: a purchase order is not also an order."""
        own = frozenset(nouns(operation))
        named = [each for each in self.by_nouns if each <= own]
        most = [self.by_nouns[each] for each in named if not any(each < other for other in named)]
        return Noun(
            frozenset().union(*(each.also for each in most)), frozenset().union(*(each.described for each in most))
        )


def _others(operation: Operation) -> set[str]:
    texts = (operation.description, operation.title, *operation.tags)
    called = [match[1] for text in texts for pattern in _OTHERS for match in pattern.finditer(text)]
    opening = _OPENING.match(operation.description)
    begun = _first_noun_phrase(words(opening[0] if opening else ""))
    tags = [tag for tag in operation.tags if tag.isalpha()]
    return {singular(word.lower()) for word in (*called, *begun, *tags, *path_words(operation)[-1:])}


def _first_noun_phrase(said: Sequence[str]) -> list[str]:
    """ "Returns a list of cars and vans of the fleet": cars, vans."""
    phrase: list[str] = []
    for word in said:
        if word not in _TOO_COMMON:
            phrase.append(word)
        elif phrase and word in STOP_WORDS - {"and", "or"}:
            break
    return phrase[:OPENING_WORDS]


def path_words(operation: Operation) -> list[str]:
    """The words of its endpoint, without versions, placeholders and the tool's own name."""
    segments = [each for each in operation.endpoint.split("/") if each and "{" not in each and each != operation.name]
    named = [each for each in segments if each not in _NO_RESOURCE and not re.fullmatch(r"v\d+", each)]
    return [word for each in named for word in words(each)]
