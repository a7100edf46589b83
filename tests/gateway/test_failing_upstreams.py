"""Upstreams that fail, as callers see it: a short error that says what to do, in time; or what was known before."""

import base64
import json
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import InvalidArgument
from context_protection.core.tokens import claude
from gateway.connectors.nsip.client import Nsip
from gateway.connectors.nsip.operations import operations as nsip_operations
from gateway.connectors.openapi.importer import import_plan
from gateway.upstreams.cache import STALE_SECONDS
from gateway.upstreams.client import Timing, Upstream
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain, upstreams
from gateway.upstreams.request import Request
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests import crawler
from tests.doors import Doors
from tests.offers import in_place
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import BUILT_IN, BadUpstream, Received, bad_upstream, mode, reply
from tests.simulators.nsip import NsipSimulator, nsip_simulator
from tests.simulators.nsip_sheep import Sheep
from tests.simulators.shop import shop
from tests.simulators.token_server import token_server

SECONDS = 1.0  # that a call may take
SOON = 0.2  # that a call may take which cannot succeed: waiting longer would prove nothing
GRACE = 0.5
MAX_TOKENS = 150
DOORS = ("post", "mcp")
TOOLS = ("bad_list_rows", "bad_get_one")

# What can be read, odd as it is.
FINE = {
    "ok", "empty", "gzipped", "deflated", "raw_deflated", "duplicates", "utf16", "given", "echo",
    "etag", "flap", "second", "nan", "surrogate", "bigint",
}  # fmt: skip
FAILING = sorted(BUILT_IN - FINE - {"crumbs"})
ENDLESS = ("drip", "hang", "hold", "slow_headers")  # only the end of a call's time ends them
LEAKS = ("<", "secret-page", "log in", "bad gateway", "ssh-2.0", "169.254", "traceback", "127.0.0.1", "internal_error")


@mode
async def numbered(upstream: BadUpstream, request: Received, writer: Any) -> None:
    """120 rows, by offset and limit."""
    query = dict(pair.split("=") for pair in request.query.split("&") if pair)
    start, size = int(query.get("offset", 0)), int(query.get("limit", 50))
    rows = [{"id": n, "name": f"row {n}", "note": "words " * 40} for n in range(120)][start : start + size]
    reply(writer, json.dumps({"items": rows, "total": 120}).encode())


@mode
async def stingy(upstream: BadUpstream, request: Received, writer: Any) -> None:
    """The same rows, after each page is first answered with 429."""
    if sum(each == request for each in upstream.requests) == 1:
        reply(writer, b"{}", 429, Retry_After="6", X_RateLimit_Remaining="0")
    else:
        await numbered(upstream, request, writer)


@mode
async def worded(upstream: BadUpstream, request: Received, writer: Any) -> None:
    reply(writer, b"All is well.\n", Content_Type="text/plain")


@mode
async def wordy(upstream: BadUpstream, request: Received, writer: Any) -> None:
    reply(
        writer,
        b"".join(b"Line %d of a log of some length.\n" % n for n in range(3000)),
        Content_Type="text/plain",
    )


@mode
async def endless(upstream: BadUpstream, request: Received, writer: Any) -> None:
    """More characters than are cut within a call."""
    reply(writer, b"A line of a log of some length, and on.\n" * 26_000, Content_Type="text/plain")


def document(url: str, tail: str = "302") -> dict[str, Any]:
    def answer(schema: dict[str, Any]) -> dict[str, Any]:
        return {"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}}

    row = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "note": {"type": "string"}},
    }
    rows = {"type": "object", "properties": {"items": {"type": "array", "items": row}, "total": {"type": "integer"}}}
    paging = [{"name": name, "in": "query", "schema": {"type": "integer"}} for name in ("limit", "offset")]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bad", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            f"/rows/{tail}": {"get": {"operationId": "list_rows", **answer({"type": "array", "items": row})}},
            f"/one/{tail}": {"get": {"operationId": "get_one", **answer(row)}},
            f"/text/{tail}": {
                "get": {
                    "operationId": "get_text",
                    "responses": {"200": {"description": "ok", "content": {"text/plain": {}}}},
                }
            },
            f"/paged/{tail}": {"get": {"operationId": "list_paged", "parameters": paging, **answer(rows)}},
        },
    }


class Bad:
    """A bad upstream that is imported as `bad`, on a clock that a test sets."""

    def __init__(self, upstream: BadUpstream) -> None:
        self.upstream, self.ahead = upstream, 0.0

    def imported(self, *, base_url: str = "", tail: str = "302", secret: str = "", **connection: Any) -> None:
        data = json.dumps(document(self.upstream.url, tail)).encode()
        plan = import_plan.plan(data, name="bad", source="bad.json", base_url=base_url)
        import_plan.store(plan, chosen={each.key for each in plan.proposals})
        api = UpstreamApi.objects.get(name="bad")
        limits = dict.fromkeys(("connect_seconds", "read_seconds", "total_seconds"), SECONDS)
        for name, value in {**limits, "most_megabytes": 1, "attempts": 1, **connection}.items():
            setattr(api, name, value)
        if secret:
            api.set_secret(secret)
        api.full_clean()
        api.save()
        revisions.bump()

    def later(self, seconds: float) -> None:
        """As if so much time had passed for what is kept of its answers, and for its breaker."""
        self.ahead += seconds
        upstream = upstreams.get("bad")
        assert upstream is not None
        for part in (upstream._cache, upstream._breaker):
            part._clock = lambda: time.monotonic() + self.ahead

    def turn(self, mode: str) -> None:
        """From now on it answers so. It must have been called before."""
        self.upstream.mode = mode
        upstream = upstreams.get("bad")
        assert upstream is not None
        upstream.limits = replace(upstream.limits, total_seconds=SOON if mode in ENDLESS else PATIENCE)


@pytest.fixture
def bad(db: None, settings: Settings) -> Iterator[Bad]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with bad_upstream() as upstream:
        yield Bad(upstream)
    retain(())


def call(doors: Doors, door: str, tool: str, **arguments: Any) -> dict[str, Any]:
    begun = time.perf_counter()
    answer: dict[str, Any] = getattr(doors, door)(tool, arguments)
    _taken.append(time.perf_counter() - begun)
    return answer


_taken: list[float] = []


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Each call of a test has the same time. The machine may stall one of them: the others are in time, or none is."""
    _taken.clear()
    yield
    assert statistics.median(_taken or [0]) < SECONDS + GRACE


def check_told(answer: dict[str, Any], *leaks: str) -> None:
    """A failure as a model reads it: what happened, what to do, and little else."""
    error = answer["error"]
    text = json.dumps(answer, ensure_ascii=False)
    assert error["code"] == -32000, error
    assert error["reason"], error
    assert error["data"]["suggestion"], error
    assert claude.count(text) <= MAX_TOKENS, error
    assert not [leak for leak in (*LEAKS, *leaks) if leak.lower() in text.lower()], text


# -- Each way to fail ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", FAILING)
def test_a_failure_is_told_shortly_in_time_and_forgotten(doors: Doors, bad: Bad, mode: str):
    bad.imported()
    bad.upstream.mode, bad.upstream.location = mode, "http://169.254.169.254/latest"
    for tool, door in product(TOOLS, DOORS):
        check_told(call(doors, door, tool))
        bad.turn(mode)
    bad.turn("ok")
    for tool, door in product(TOOLS, DOORS):
        assert "error" not in call(doors, door, tool)


@pytest.mark.parametrize("mode", sorted(FINE - {"second"}))
def test_what_is_odd_but_can_be_read_is_answered(doors: Doors, bad: Bad, mode: str):
    bad.imported(attempts=2, total_seconds=5)
    for tool, door in product(TOOLS, DOORS):
        bad.upstream.mode, bad.upstream.failures = mode, 1
        answer = call(doors, door, tool)
        assert "error" not in answer, answer


def test_crumbs_are_put_together_or_given_up_in_time(doors: Doors, bad: Bad):
    bad.imported()
    bad.upstream.mode = "crumbs"
    answer = call(doors, "mcp", "bad_list_rows")
    assert answer.get("items") == [] or answer["error"]["reason"] == "upstream_timeout"


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("door", DOORS)
def test_a_connection_that_is_broken_when_it_is_used_again_is_nobodys_failure(
    doors: Doors, bad: Bad, how: str, door: str
):
    bad.imported(tail=how, keep_seconds=0)
    bad.upstream.mode = "second"
    for _ in range(3):
        assert crawler.rows(call(doors, door, "bad_list_rows"))


def test_who_fails_again_and_again_is_left_alone_and_then_found_well(doors: Doors, bad: Bad):
    bad.imported(attempts=1)
    bad.upstream.mode = "broken"
    reasons = [call(doors, "post", "bad_get_one")["error"]["reason"] for _ in range(7)]
    assert reasons == ["upstream_failed"] * 5 + ["upstream_unavailable"] * 2
    assert bad.upstream.count == 5
    bad.upstream.mode = "ok"
    assert call(doors, "mcp", "bad_get_one")["error"]["data"]["retry_after"] > 0
    bad.later(6)
    assert "error" not in call(doors, "mcp", "bad_get_one")


def test_a_call_of_several_pages_waits_ten_seconds_for_them_together(doors: Doors, bad: Bad):
    bad.imported(attempts=3, total_seconds=60)
    bad.upstream.mode = "numbered"
    assert "items" in call(doors, "mcp", "bad_list_paged", limit=5)  # the upstream is made
    upstream, sleeps = upstreams.get("bad"), list[float]()
    assert upstream is not None

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)

    upstream._timing = Timing(sleep=sleep)
    bad.upstream.mode = "stingy"
    answer = call(doors, "mcp", "bad_list_paged", where={"id": {"gte": 30}}, limit=100)
    assert sleeps == [6]
    assert bad.upstream.count == 4, answer


# -- What was known before ----------------------------------------------------------------------------

AWAY = ["close", "down", "hang", "login", "truncated", "bad_json", "busy", "slow_headers", "not_http", "bomb"]


@pytest.mark.parametrize("tool", [*TOOLS, "bad_list_paged"])
@pytest.mark.parametrize("away", ["close", "down", "hang", "truncated", "busy"])
def test_while_upstream_is_away_its_answer_of_before_is_given_as_such(doors: Doors, bad: Bad, away: str, tool: str):
    bad.imported(keep_seconds=60)
    bad.upstream.mode = "numbered" if tool == "bad_list_paged" else "ok"
    before = call(doors, "post", tool)
    assert "stale" not in before["meta"]
    revisions.bump()  # what was learned of the rows applies, as it does where the transaction is committed
    bad.turn(away)
    bad.later(61)
    for door in DOORS:
        answer = call(doors, door, tool)
        assert answer["meta"]["stale"] is True
        assert answer["meta"]["asOf"] == before["meta"]["asOf"]
        assert _told(answer) == _told(before)
    bad.later(STALE_SECONDS)
    check_told(call(doors, "mcp", tool))


@pytest.mark.parametrize("words", ["worded", "wordy", "endless"])
def test_a_text_of_before_says_that_it_is_and_since_when(doors: Doors, bad: Bad, words: str):
    bad.imported(keep_seconds=60, most_megabytes=2)
    bad.upstream.mode = words
    before = call(doors, "post", "bad_get_text")
    assert "stale" not in before["meta"]
    bad.upstream.mode = "close"
    bad.later(61)
    for door in DOORS:
        answer = call(doors, door, "bad_get_text")
        assert answer["meta"]["stale"] is True
        assert answer["meta"]["asOf"] == before["meta"]["asOf"]
        assert answer["content"] == before["content"]


def _told(answer: dict[str, Any]) -> Any:
    """Of a list which rows: what they are condensed to may have been learned since."""
    is_list = "items" in answer or "table" in answer
    return [row["id"] for row in crawler.rows(answer)] if is_list else _contents(answer)


def _contents(answer: dict[str, Any]) -> Any:
    return {name: each for name, each in answer.items() if name not in ("meta", "nextCursor")}


@pytest.mark.parametrize("away", AWAY)
def test_a_walk_uses_up_the_rows_in_hand_and_then_resumes_where_it_stopped(doors: Doors, bad: Bad, away: str):
    bad.imported()
    bad.upstream.mode = "numbered"
    answer = call(doors, "mcp", "bad_list_paged", limit=20)
    seen = [row["id"] for row in answer["items"]]
    bad.turn(away)
    while "error" not in (following := call(doors, "mcp", "bad_list_paged", cursor=answer["nextCursor"], limit=20)):
        answer = following
        seen += [row["id"] for row in answer["items"]]
    check_told(following)
    assert seen == list(range(50)), "upstream's first page has 50 rows: all of them are answered"
    bad.turn("numbered")
    bad.later(120)
    while cursor := answer.get("nextCursor"):
        answer = call(doors, "post", "bad_list_paged", cursor=cursor, limit=20)
        seen += [row["id"] for row in answer["items"]]
    assert seen == list(range(120))


# -- NSIP ---------------------------------------------------------------------------------------------

RAM = Sheep(640, 7331).lpn
CALLS: dict[str, dict[str, Any]] = {
    "nsip_get_last_update": {},
    "nsip_list_breeds": {},
    "nsip_get_statuses": {},
    "nsip_get_trait_ranges": {"breed_id": 640},
    "nsip_search_animals": {"breed_id": 640},
    "nsip_get_animal": {"search_string": RAM},
    "nsip_get_lineage": {"lpn_id": RAM},
    "nsip_get_progeny": {"lpn_id": RAM},
    "nsip_search_by_lpn": {"lpn_id": RAM},
}
WITHOUT_IDENTITY = ("nsip_get_last_update", "nsip_get_statuses")  # what any object may be an answer to


class Sheepfold:
    """NSIP's nine operations, which ask the simulator through an Upstream, on a clock that a test sets."""

    def __init__(self, simulator: NsipSimulator) -> None:
        self.simulator, self.ahead = simulator, 0.0
        timing = Timing(clock=lambda: time.monotonic() + self.ahead)
        limits = CallLimits(total_seconds=PATIENCE, attempts=1)
        self.upstream = Upstream("nsip", trusted=frozenset({simulator.url}), limits=limits, timing=timing)
        self.offered = nsip_operations(Nsip(self.upstream, f"{simulator.url}/api", lambda method: 60.0))

    def turn(self, mode: str) -> None:
        """From now on it answers so; what was kept is no longer fresh, and the breaker lets a question through."""
        self.simulator.release.set()
        self.simulator.release = threading.Event()
        self.simulator.mode = mode
        self.upstream.limits = replace(self.upstream.limits, total_seconds=SOON if mode == "slow" else PATIENCE)
        self.ahead += 120


@pytest.fixture
def sheepfold(db: None) -> Iterator[Sheepfold]:
    with nsip_simulator() as simulator:
        simulator.url = simulator.url.removesuffix("/api")
        made = Sheepfold(simulator)
        with in_place(made.offered):
            yield made


@pytest.mark.parametrize("away", ["busy", "failing", "garbage", "login", "anonymous", "empty", "down", "slow"])
def test_nsip_that_fails_is_told_of_or_answered_for(doors: Doors, sheepfold: Sheepfold, away: str):
    for tool, arguments in CALLS.items():
        if away == "anonymous" and tool in WITHOUT_IDENTITY:
            continue
        sheepfold.turn(away)
        for door in DOORS:
            check_told(call(doors, door, tool, **arguments), "object reference", "sign in")
        sheepfold.turn("new")
        # A breaker lets one question through at first, and a profile asks three.
        call(doors, "post", "nsip_get_trait_ranges", breed_id=641)
        fresh = call(doors, "mcp", tool, **arguments)
        assert fresh["meta"].get("stale") is None
        sheepfold.turn(away)
        for door in DOORS:
            stale = call(doors, door, tool, **arguments)
            assert stale["meta"]["stale"] is True
            assert stale["meta"]["asOf"]
            assert _contents(stale).keys() == _contents(fresh).keys()


def test_a_profile_alone_finds_out_that_nsip_is_well_again(doors: Doors, sheepfold: Sheepfold):
    arguments = CALLS["nsip_search_by_lpn"]
    sheepfold.simulator.mode = "failing"
    for _ in range(3):
        check_told(call(doors, "mcp", "nsip_search_by_lpn", **arguments))
    sheepfold.turn("new")
    call(doors, "mcp", "nsip_search_by_lpn", **arguments)
    assert "error" not in call(doors, "mcp", "nsip_search_by_lpn", **arguments)


# -- Addresses and credentials ------------------------------------------------------------------------


def test_a_redirect_to_a_private_address_is_not_followed(doors: Doors, bad: Bad, settings: Settings):
    with bad_upstream() as canary:
        settings.ALLOW_PRIVATE_UPSTREAMS = ("127.0.0.1/32",)
        bad.imported()
        bad.upstream.mode = "redirect"
        for location in (canary.url.replace("127.0.0.1", "127.0.0.2"), "http://169.254.169.254/latest"):
            bad.upstream.location = location
            for door in DOORS:
                check_told(call(doors, door, "bad_get_one"))
        assert canary.connections == 0


SECRET = "canary-7f3a91"
KINDS: dict[str, dict[str, str]] = {
    "header": {"parameter_name": "X-API-Key"},
    "query": {"parameter_name": "api_key"},
    "bearer": {},
    "basic": {"user_name": "sluice"},
    "client_credentials": {"client_id": "sluice"},
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_secret_reaches_its_upstream_and_nobody_else(
    doors: Doors, bad: Bad, kind: str, caplog: pytest.LogCaptureFixture
):
    """Though upstream repeats it: neither errors nor logs nor telemetry have it. The caller's own key goes nowhere."""
    caplog.set_level("DEBUG")
    with token_server() as tokens:
        tokens.answer = {"access_token": SECRET, "token_type": "Bearer", "expires_in": 3600}
        more = {"token_url": tokens.url} if kind == "client_credentials" else {}
        bad.imported(authentication=kind, secret=SECRET, **KINDS[kind], **more)
        encoded = base64.b64encode(f"sluice:{SECRET}".encode()).decode()
        known = SECRET if kind in ("header", "query", "bearer") else f"{SECRET} {encoded}"
        said = json.dumps({"error": {"message": f"The key {known} is not valid."}}).encode()
        bad.upstream.mode, bad.upstream.body = "given", said
        for status, door in product((400, 401, 403, 500), DOORS):
            bad.upstream.status = status
            check_told(call(doors, door, "bad_get_one"), SECRET, encoded)
    sent = [f"{each.query} {each.headers}" for each in bad.upstream.requests]
    assert all(SECRET in each or encoded in each for each in sent)
    assert not [each for each in sent if doors.key in each]
    recorder.flush()
    logged = " ".join(str(each.__dict__) for each in caplog.records)
    stored = str(list(TelemetryRecord.objects.values()))
    for leak in (SECRET, encoded, doors.key):
        assert leak not in logged
        assert leak not in stored


# -- What is not asked for again (N-SC-006) ------------------------------------------------------------


def asked(doors: Doors, tool: str, arguments: dict[str, Any], pages: int = 1) -> int:
    """Calls a tool as a model does, and follows nextCursor; the number of calls."""
    answer = doors.mcp(tool, arguments)
    calls = 1
    while calls < pages:
        answer = doors.mcp(tool, {**arguments, "cursor": answer["nextCursor"]})
        calls += 1
    assert "error" not in answer, answer
    return calls


def test_a_hundred_calls_of_an_agent_ask_nsip_far_less(doors: Doors, sheepfold: Sheepfold):
    """Five rounds of twenty: the same search and its pages, six animals of which four were looked at before, pedigrees
    and offspring of two, and what is looked up at the beginning of every task."""
    calls = 0
    for each in range(5):
        calls += asked(doors, "nsip_search_animals", {"breed_id": 640}, pages=4)
        for number in range(2 * each, 2 * each + 6):
            calls += asked(doors, "nsip_get_animal", {"search_string": Sheep(640, number).lpn})
        for number in (2 * each, 2 * each + 1):
            lpn = {"lpn_id": Sheep(640, number).lpn}
            calls += sum(
                asked(doors, tool, lpn) for tool in ("nsip_get_lineage", "nsip_get_progeny", "nsip_search_by_lpn")
            )
        for tool in ("nsip_list_breeds", "nsip_get_statuses", "nsip_get_last_update"):
            calls += asked(doors, tool, {})
        calls += asked(doors, "nsip_get_trait_ranges", {"breed_id": 640})
    assert calls == 100
    assert len(sheepfold.simulator.received) <= 60, sheepfold.simulator.counts


def test_a_hundred_calls_of_an_agent_ask_an_imported_api_far_less(doors: Doors, db: None, settings: Settings):
    """Five rounds of twenty: a list and its pages, the same list as a question, eight customers of which five were
    looked at before, a list that is not paged, and the first chunks of a log."""
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as api:
        plan = import_plan.plan(json.dumps(api.document).encode(), name="shop", source="shop.json")
        import_plan.store(
            plan, chosen={each.key for each in plan.proposals if each.operation and each.operation.is_safe}
        )
        revisions.bump()
        tools = {each.key: f"shop_{each.name}" for each in plan.proposals}
        calls = 0
        for each in range(5):
            calls += asked(doors, tools["GET /by-offset"], {"limit": 20}, pages=5)
            calls += asked(doors, tools["GET /by-offset"], {"where": {"status": "active"}, "limit": 20}, pages=3)
            for number in range(1 + 3 * each, 9 + 3 * each):
                calls += asked(doors, tools["GET /customers/{id}"], {"id": str(number)})
            calls += asked(doors, tools["GET /all"], {})
            calls += asked(doors, tools["GET /log"], {}, pages=3)
        retain(())
        assert calls == 100
        assert len(api.calls) <= 60


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]", "169.254.169.254"])
def test_an_api_at_a_private_address_is_not_imported(bad: Bad, settings: Settings, host: str):
    settings.ALLOW_PRIVATE_UPSTREAMS = False
    with pytest.raises(InvalidArgument, match=r"private or reserved.*ALLOW_PRIVATE_UPSTREAMS"):
        bad.imported(base_url=f"http://{host}:{bad.upstream.port}")
    assert not UpstreamApi.objects.filter(name="bad").exists()
    assert bad.upstream.connections == 0


async def test_a_connection_is_used_again(bad: Bad):
    upstream = Upstream("Acme", trusted=frozenset({bad.upstream.url}))
    for number in range(3):
        await upstream.fetch(Request("GET", f"{bad.upstream.url}/ok?{number}"))
    assert (bad.upstream.count, bad.upstream.connections) == (3, 1)
