"""Synonyms between the language of users and of APIs: groups of equivalent words, and phrases that equal one word."""

import re
from collections.abc import Mapping, Sequence


def _groups(*groups: str) -> Sequence[frozenset[str]]:
    return [frozenset(group.split()) for group in groups]


# Verbs by intent. If the first word of a query is one of them, it does not name a tool by itself.
LOOKING = _groups(
    "list find search browse show see query filter lookup overview",
    "get fetch read view show see open retrieve detail details lookup display check",
    "count number total many",
    "download export fetch",
)
MAKING = _groups(
    "create add new make register insert book open write raise log",
    "upload import attach add save",
    "schedule plan arrange organize create",
    "send deliver dispatch mail email notify forward publish post",
    "invite add",
    "buy purchase order",
    "book reserve",
    "generate start begin create",
)
CHANGING = _groups(
    "update edit change modify set adjust correct alter amend fix rename patch replace close reopen resolve "
    "acknowledge mark",
    "move transfer relocate shift migrate",
    "reschedule postpone move update",
    "resize scale grow",
)
DELETING = _groups("delete remove erase drop discard destroy clear kick evict")
STOPPING = _groups("cancel delete remove abort void revoke invalidate stop withdraw destroy terminate end")
OTHER_VERBS = _groups(
    "approve accept confirm authorize allow",
    "reject decline refuse deny",
    "assign allocate give hand grant apply",
    "pay settle transfer",
    "refund reimburse return repay",
    "close complete finish resolve end",
    "archive shelve retire close",
    "restore recover undo undelete reopen",
    "enable activate start unblock unlock",
    "disable deactivate suspend pause stop block lock freeze hold",
    "block ban forbid bar",
    "copy duplicate clone",
    "merge combine join unite duplicate",
    "start begin launch run trigger execute exec boot",
    "stop shutdown halt",
    "restart reboot reload",
    "terminate end dismiss fire quit",
    "track trace locate follow",
    "follow subscribe watch",
    "unfollow unsubscribe unwatch",
    "like favourite favorite heart love",
    "share boost reblog repost",
    "mute silence",
    "leave exit quit",
    "empty clear purge",
    "test ping try",
    "rotate renew regenerate reset refresh",
    "reply answer respond",
    "play listen hear",
    "connect link attach associate",
    "disconnect unlink detach unassign",
    "verify check validate",
    "estimate calculate compute",
    "extend renew prolong",
    "deploy release publish",
)
VERBS = (*LOOKING, *MAKING, *CHANGING, *DELETING, *STOPPING, *OTHER_VERBS)
NOUNS = _groups(
    "repo repository",
    "org organization organisation company",
    "user person people member account colleague employee staff worker somebody someone everybody",
    "user profile account",
    "member participant attendee",
    "admin administrator",
    "message sms text chat post",
    "post status",
    "conversation channel thread chat",
    "call phone",
    "file document doc attachment",
    "folder directory",
    "item content file",
    "image picture photo avatar",
    "photo picture video media asset",
    "config configuration setting",
    "app application",
    "trash deleted bin",
    "bill invoice",
    "customer client contact",
    "ticket issue case bug",
    "server machine instance vm",
    "key token secret",
    "signature sign",
    "record entry",
    "database db",
    "permission access role allowed",
    "event activity history log audit happened",
    "comment note",
    "label tag hashtag",
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
    "usage consumption used use",
    "debt balance",
    "place region location shop store branch",
    "reply response answer thread comment",
    "version revision",
    "webhook hook",
    "snapshot backup",
    "pdf download",
    "pull pr",
    "storage disk space",
    "latest newest last recent lately",
    "next upcoming",
    "similar related",
    "favourite favorite starred",
    "result report",
    "change changelog history",
    "collaborator collaboration access",
    "email mail",
    "cart basket",
    "delivery shipment shipping parcel package",
    "review rating feedback",
    "team group",
    "task todo",
    "deadline due",
    "notification alert alarm",
    "password credential",
    "subscription plan",
    "website site domain",
    "job build run pipeline workflow",
    "log output trace",
    "certificate ssl tls",
    "receipt bill invoice",
    "tax vat",
    "guest attendee participant registrant",
    "channel room",
    "movie film video",
    "category genre topic",
    "country region",
    "statistic stat metric analytics insight",
    "limit quota",
    "release version",
    "setting preference option",
    "logo icon avatar thumbnail image",
    "language locale",
    "balance money funds",
    "quote estimate",
)

# Verbs that say what should be done, but nothing about the tool that does it.
(GENERIC,) = _groups(
    "list find search browse show see query get fetch read view open display check count create add new make "
    "update edit change modify set delete remove erase"
)

# Phrases that stand for a verb, and phrases of time, which do not name a tool. They are replaced before a query is
# split into words.
PHRASES: Mapping[str, str] = {
    r"please": " ",
    r"(?:the|an?|my|our|some(?:body|one)) ?\w* wants to": " ",
    r"(?:i |we )?(?:would|d) like(?: to)?": " ",
    r"get rid of|throw (?:out|away)": "delete",
    r"look(?:ing)? (?:up|for)": "find",
    r"call off": "cancel",
    r"place(?= an? )": "create",
    r"(?:move|put)\b(.*)\b(?:to|in|into) (?:the )?(?:trash|bin)": r"delete \1",
    r"what(?: is|['’]s) in(?:side)?": "content of",
    r"set up|sign up|put in": "create",
    r"log (?:out|off)|sign out": "logout",
    r"log in|sign in": "login",
    r"(?:turn|switch)(?:ed)? on": "enable",
    r"(?:turn|switch)(?:ed)? off": "disable",
    r"stop (?=\w+ing\b)": "delete ",
    r"how many": "count",
    r"money back|pay back|paid back": "refund",
    r"bring back": "restore",
    r"send back": "return",
    r"hand over": "assign",
    r"(?:last|next|this|each|every|per) (?:day|week|month|quarter|year)|today|yesterday|tomorrow": " ",
    r"(?:put|place)\b(.*)\bon hold": r"pause \1",
    r"who am i|about me|my (?:own )?(?:user|account|profile)": "current user",
    r"(?:join|combine|match)(?= \w+ (?:with|and|to) \w)": "sql",
    r"hang up": "end",
    r"how much (?:do i|do we|money(?: is| do (?:i|we))?) (?:owe|have|in|on)": "balance",
    r"how much": " ",
}
_PHRASES = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), verb) for pattern, verb in PHRASES.items()]


def plainly(query: str) -> str:
    """The query with one word for each phrase."""
    for pattern, verb in _PHRASES:
        query = pattern.sub(verb, query)
    return query
