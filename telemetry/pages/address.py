"""The address of a page: its range, filters and order, from the URL. Links pass them on from page to page.

range=15m|1h|6h|24h|7d|30d|90d, or from= and to= (UTC, ISO 8601)     tz=Europe/Berlin     refresh=0|10|60
compare=previous|week|none     by=tool,key     sort=-calls     view=<id of a saved view>     cursor=
tool= key= client= … (a repeated name is OR, !x is NOT, * is any characters)     min_ms= min_tokens= q=
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest, QueryDict
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from telemetry.pages import ranges
from telemetry.queries import Selection

DIMENSIONS: Mapping[str, str] = {
    "tool": "Tool",
    "key": "Key",
    "client": "Client",
    "upstream": "Upstream",
    "transport": "Transport",
    "protocol": "Protocol",
    "origin": "Origin",
    "outcome": "Outcome",
    "reason": "Reason",
    "policy": "Policy revision",
    "arm": "Arm",
    "cache": "From cache",
    "oversized": "Oversized",
    "status": "Upstream's status",
    "connector": "Connector",
    "chain": "Chain of pages",
}
COMPARISONS: Mapping[str, str] = {"previous": "the span before", "week": "the week before", "none": "nothing"}
REFRESHES: Mapping[int, str] = {0: "off", 10: "every 10 s", 60: "every 60 s"}
THRESHOLDS = ("min_ms", "min_tokens")
KEPT = (*THRESHOLDS, "view")  # links to other pages drop all parameters but these
OF_ONE_PAGE = ("by", "sort", "cursor", "q")
ZONE_COOKIE = "tz"
LONGEST_VALUE = 200  # characters
MOST_DIGITS = 9  # of a threshold: larger numbers fit no column


@dataclass(frozen=True, slots=True)
class CallFilter:
    """One value that the calls are filtered by."""

    dimension: str
    value: str

    @property
    def words(self) -> str:
        """origin: not upstream"""
        return f"{DIMENSIONS[self.dimension].lower()}: {'not ' if self.value.startswith('!') else ''}{self.shown}"

    @property
    def shown(self) -> str:
        return self.value.removeprefix("!")


@dataclass(frozen=True, slots=True)
class Address:
    """`range` is a key of RANGES; "" if `since` and `until` were given, or for links without a time. `problems`: a
    sentence for each parameter that was not understood and is ignored. `subject`: the value that the page is about,
    such as one tool."""

    path: str
    now: datetime
    range: str = "24h"
    since: datetime | None = None
    until: datetime | None = None
    zone: str = "UTC"
    refresh: int = 0
    compare: str = "previous"
    filters: tuple[CallFilter, ...] = ()
    subject: CallFilter | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()  # those of "range", "tz" and "refresh" that the URL has
    problems: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, request: HttpRequest, *, default_range: str = "24h", default_refresh: int = 0, own: Sequence[str] = ()
    ) -> "Address":
        """`own`: parameters that only this page has."""
        problems: list[str] = []
        given = request.GET
        zone, is_zone_chosen = _zone(given, request.COOKIES, problems)
        since, until = _moments(given, ZoneInfo(zone), timezone.now(), problems)
        preset = _one_of(given, "range", ranges.RANGES, problems)
        refresh = _one_of(given, "refresh", [str(each) for each in REFRESHES], problems)
        chosen = {"range": since or preset, "tz": is_zone_chosen, "refresh": refresh}
        return cls(
            path=request.path,
            now=timezone.now(),
            range="" if since else preset or default_range,
            since=since,
            until=until,
            zone=zone,
            refresh=int(refresh or default_refresh),
            compare=_one_of(given, "compare", COMPARISONS, problems) or "previous",
            filters=_filters(given, problems),
            others=_others(given, problems, own),
            chosen=frozenset(name for name, is_given in chosen.items() if is_given),
            problems=tuple(problems),
        )

    # -- Values -------------------------------------------------------------------------------------

    @property
    def span(self) -> tuple[datetime, datetime]:
        """[since, until)"""
        if self.since and self.until:
            return self.since, self.until
        return self.now - ranges.RANGES[self.range], self.now

    @property
    def length(self) -> timedelta:
        since, until = self.span
        return until - since

    @property
    def before(self) -> tuple[datetime, datetime] | None:
        """The span to compare with; None: no comparison."""
        since, until = self.span
        match self.compare:
            case "previous":
                return since - self.length, since
            case "week":
                return since - timedelta(days=7), until - timedelta(days=7)
        return None

    @property
    def before_in_words(self) -> str:
        """previous 24 h, or a week earlier"""
        return {"previous": f"previous {ranges.named(self.length)}", "week": "a week earlier"}.get(self.compare, "")

    @property
    def range_in_words(self) -> str:
        """24 hours, or 2026-11-22 13:58:00 to 14:13:00"""
        if self.range:
            return ranges.LABELS[self.range]
        since, until = (moment.astimezone(ZoneInfo(self.zone)) for moment in self.span)
        end = f"{until:%H:%M:%S}" if since.date() == until.date() else f"{until:%Y-%m-%d %H:%M:%S}"
        return f"{since:%Y-%m-%d %H:%M:%S} to {end}"

    @property
    def during(self) -> str:
        """in 24 hours, or from 2026-11-22 13:58:00 to 14:13:00"""
        return f"{'in' if self.range else 'from'} {self.range_in_words}"

    @property
    def by(self) -> tuple[str, ...]:
        """The dimensions that a table is grouped by: at most two."""
        wanted = self.others.get("by", "").split(",")
        return tuple(dict.fromkeys(name for name in wanted if name in DIMENSIONS))[:2]

    def get(self, name: str) -> str:
        return self.others.get(name, "")

    @property
    def thresholds(self) -> Mapping[str, int]:
        return {name: int(self.others[name]) for name in THRESHOLDS if name in self.others}

    @property
    def filter_count(self) -> int:
        """The number of filters and thresholds that narrow the calls down."""
        return len(self.filters) + len(self.thresholds)

    @property
    def selection(self) -> Selection:
        """The calls that match the filters and thresholds."""
        values: dict[str, list[str]] = {}
        for each in self.filters:
            values.setdefault(each.dimension, []).append(each.value)
        at_least = self.thresholds
        return Selection.of(values, min_ms=at_least.get("min_ms"), min_tokens=at_least.get("min_tokens"))

    # -- Links --------------------------------------------------------------------------------------

    def link(self, **changes: str | None) -> str:
        """A link to this page with other parameters; None removes a parameter. `cursor` is dropped unless it is given,
        because a changed list needs a new one."""
        pairs = dict(self._pairs())
        pairs.pop("cursor", None)
        pairs |= {name: value for name, value in changes.items() if value}
        removed = {name for name, value in changes.items() if not value}
        if "range" in changes:
            removed |= {"from", "to"}
        if "from" in changes:
            removed.add("range")
        parameters = [(name, value) for name, value in pairs.items() if name not in removed]
        return self._with(self.path, parameters, self.filters)

    def filtered_by(self, *, path: str = "", **chosen: str) -> str:
        """A link to this page, or `path`, with `chosen` as further filters. They replace filters of the same
        dimensions."""
        kept = tuple(each for each in self.filters if each.dimension not in chosen)
        added = tuple(CallFilter(name, value) for name, value in chosen.items())
        pairs = [(name, value) for name, value in self._pairs() if name != "cursor"]
        return self._with(path or self.path, pairs, (*kept, *added))

    def about(self, dimension: str, value: str) -> "Address":
        """The address of a page about one value of a dimension, without filters by that dimension."""
        kept = tuple(each for each in self.filters if each.dimension != dimension)
        return replace(self, filters=kept, subject=CallFilter(dimension, value))

    def with_filter(self, added: CallFilter) -> str:
        """A link to this page with one more filter."""
        return replace(self, filters=tuple(dict.fromkeys((*self.filters, added)))).link()

    def without(self, *removed: CallFilter) -> str:
        """A link to this page without some filters; without all of them, and the thresholds, if none is named."""
        if not removed:
            return self.unfiltered.link()
        return replace(self, filters=tuple(each for each in self.filters if each not in removed)).link()

    def to(self, name: str, *arguments: str, **chosen: str) -> str:
        """A link to another of these pages, with the same time, zone and filters, and `chosen` as further filters. A
        link to a page about one object (`arguments`) drops the filter for that kind of object. A link from such a page
        to the list of calls has that filter. Links to pages with figures name the range even if nobody chose it,
        because their own default may be another. "" if there is no such page."""
        try:
            path = reverse(f"telemetry:{name}", args=arguments)
        except NoReverseMatch:
            return ""
        if self.subject and name == "calls":
            chosen = {self.subject.dimension: self.subject.value} | chosen
        own = {SUBJECTS[name]} if arguments and name in SUBJECTS else set()
        kept = tuple(each for each in self.filters if each.dimension not in own)
        others = {key: value for key, value in self.others.items() if key in KEPT}
        named = self.chosen | {"range"} if self.range and name in (*SUBJECTS, "calls") else self.chosen
        return replace(self, filters=kept, others=others, chosen=named).filtered_by(path=path, **chosen)

    def at(self, since: datetime, until: datetime) -> "Address":
        """The same address for another time."""
        return replace(self, range="", since=since, until=until)

    @property
    def unfiltered(self) -> "Address":
        """The address without filters and thresholds."""
        others = {name: value for name, value in self.others.items() if name not in THRESHOLDS}
        return replace(self, filters=(), others=others)

    @property
    def timeless(self) -> "Address":
        """The address without a time, for links to which a script or a table adds one."""
        return replace(self, range="", since=None, until=None, chosen=self.chosen - {"range", "refresh"})

    @property
    def with_chosen_range(self) -> "Address":
        """The address for links from a page that shows nothing about its range: they name it only if it was chosen."""
        return self if "range" in self.chosen else replace(self, range="")

    @property
    def fixed(self) -> "Address":
        """The address with `from` and `to` in place of a moving range, and with the zone, so that everybody who opens
        it sees the same."""
        return replace(self.at(*self.span), chosen=frozenset({"tz"}), refresh=0)

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """All parameters, for the hidden inputs of a form."""
        return [*self._pairs(), *((each.dimension, each.value) for each in self.filters)]

    @property
    def query(self) -> str:
        return urlencode(self.hidden)

    def _pairs(self) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        if self.since and self.until:
            pairs += [("from", written(self.since)), ("to", written(self.until))]
        elif "range" in self.chosen:
            pairs.append(("range", self.range))
        if "tz" in self.chosen:
            pairs.append(("tz", self.zone))
        if "refresh" in self.chosen:
            pairs.append(("refresh", str(self.refresh)))
        if self.compare != "previous":
            pairs.append(("compare", self.compare))
        return [*pairs, *self.others.items()]

    @staticmethod
    def _with(path: str, pairs: list[tuple[str, str]], filters: tuple[CallFilter, ...]) -> str:
        query = urlencode([*pairs, *((each.dimension, each.value) for each in filters)], safe=":,*!")
        return f"{path}?{query}" if query else path


SUBJECTS: Mapping[str, str] = {"tool": "tool", "caller": "key", "upstream": "upstream"}


def written(moment: datetime) -> str:
    """2026-11-22T14:02:11Z, with microseconds if there are any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _one_of(given: QueryDict, name: str, known: "Mapping[str, object] | list[str]", problems: list[str]) -> str:
    value = given.get(name, "")
    if value and value not in known:
        problems.append(f"{name}={value[:40]} is not known, so it is ignored. Known: {', '.join(known)}.")
        return ""
    return value


def _filters(given: QueryDict, problems: list[str]) -> tuple[CallFilter, ...]:
    found = [CallFilter(name, value) for name in DIMENSIONS for value in given.getlist(name)]
    return tuple(dict.fromkeys(each for each in found if is_text(each.shown) and _is_known(each, problems)))


def _is_known(wanted: CallFilter, problems: list[str]) -> bool:
    try:
        Selection.of({wanted.dimension: [wanted.value]})
    except ValueError as error:
        problems.append(f"A filter is ignored: {error}")
        return False
    return True


def is_text(value: str) -> bool:
    """Whether the text can be a name. Postgres stores no NUL."""
    return 0 < len(value) <= LONGEST_VALUE and "\x00" not in value


def _zone(given: QueryDict, cookies: Mapping[str, str], problems: list[str]) -> tuple[str, bool]:
    chosen = given.get("tz", "")
    if chosen and ranges.is_zone(chosen):
        return chosen, True
    if chosen:
        problems.append(f"tz={chosen[:40]} is not a time zone, so it is ignored. Expected: a name such as Asia/Tokyo.")
    of_browser = cookies.get(ZONE_COOKIE, "")
    return (of_browser if ranges.is_zone(of_browser) else "UTC"), False


def _moments(
    given: QueryDict, zone: ZoneInfo, now: datetime, problems: list[str]
) -> tuple[datetime, datetime] | tuple[None, None]:
    since_text, until_text = given.get("from", ""), given.get("to", "")
    if not since_text and not until_text:
        return None, None
    since = ranges.read_moment(since_text, zone)
    until = ranges.read_moment(until_text, zone) if until_text else now
    if since is None or until is None:
        name, text = ("from", since_text) if since is None else ("to", until_text)
        problems.append(f"{name}={text[:40]} is not a time, so it is ignored. Expected: 2026-11-22T14:02:00Z.")
    elif not timedelta(0) < until - since <= ranges.LONGEST:
        problems.append(
            f"from={since_text[:40]} to={until_text[:40]} is ignored. "
            f"Expected: from before to, at most {ranges.LONGEST.days} days apart."
        )
    else:
        return since, until
    return None, None


def _others(given: QueryDict, problems: list[str], own: Sequence[str]) -> dict[str, str]:
    texts = {name: given.get(name) or "" for name in (*OF_ONE_PAGE, *KEPT, *own)}
    texts["by"] = ",".join(filter(None, given.getlist("by")))  # the form sends each in a parameter of its own
    found = {name: text for name, text in texts.items() if isinstance(text, str) and is_text(text)}
    for name in THRESHOLDS:
        if name in found and not (found[name].isdecimal() and len(found[name]) <= MOST_DIGITS):
            said = f"Expected: a whole number of at most {MOST_DIGITS} digits."
            problems.append(f"{name}={found.pop(name)[:40]} is ignored. {said}")
    return found
