"""Hostaway's API over real HTTP on loopback, with a sample account.

    with hostaway() as upstream:
        upstream.reservations            # its rows by id, to be changed at any time; also listings, charges
        upstream.url                     # what HOSTAWAY_BASE_URL is set to: …/v1
        upstream.mode = "failing"        # failing, garbage, html, down, busy, slow: for all but tokens
        upstream.modes["/listings"] = …  # … for one path
        upstream.requests                # Seen(path, query, at, status), in order

Times of tokens and limits are `clock()`: a test may put one of its own there. `after_page` is called when a page of
a list has been answered: whatever it changes happens between two pages.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gateway.connectors.hostaway import sample
from tests.patience import PATIENCE

ACCOUNT_ID, SECRET = "10638", "an-invented-secret-of-the-account"
TWO_YEARS = 63_072_000
WINDOW_SECONDS = 10
IP_LIMIT, ACCOUNT_LIMIT = 15, 20
EMPTY_OF_A_CHARGE = (
    "autopaymentId", "title", "capturedAmount", "paymentProviderMessage", "paymentProviderInvoiceId",
    "paymentProviderChargeId", "scheduledDate", "holdReleaseDate", "autoChargeId", "triggerEvent", "flatFee",
    "percentageFee",
)  # fmt: skip
SAME_OF_A_CHARGE = (
    "id", "listingMapId", "reservationId", "type", "description", "currency", "paymentMethod", "amount", "status",
    "paymentProvider",
)  # fmt: skip
Row = dict[str, Any]
Answer = tuple[int, Any]


@dataclass(frozen=True)
class Seen:
    path: str
    query: Mapping[str, str]
    at: float
    status: int


@dataclass
class Token:
    usable_at: float
    ends_at: float


@dataclass
class Hostaway:
    reservations: dict[int, Row] = field(default_factory=dict)
    listings: dict[int, Row] = field(default_factory=dict)
    charges: dict[int, Row] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    mode: str = ""
    modes: dict[str, str] = field(default_factory=dict)
    finance_status: int = 200
    counts_as_text: bool = False
    tokens_wrapped: bool = False
    token_delay: float = 0.0  # the real one's is 1 second
    most_rows: int = 500  # of a page, whatever is asked for
    has_limits: bool = False
    after_page: Callable[[str], None] = lambda path: None
    requests: list[Seen] = field(default_factory=list)
    tokens: dict[str, Token] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _accepted: list[float] = field(default_factory=list)

    # -- What a test does ----------------------------------------------------------------------------

    def fill(self, *, listings: int = 0, reservations: int = 0, charges: int = 0) -> None:
        self.listings |= {row["id"]: row for row in list(sample.listings())[:listings]}
        self.reservations |= {row["id"]: row for row in sample.reservations(reservations)}
        self.charges |= {row["id"]: charge(row) for row in sample.transactions(charges)}

    def change(self, identifier: int, at: str, **values: Any) -> None:
        """A reservation as it is from `at` on: it moves to the front of the list."""
        self.reservations[identifier] = {**self.reservations[identifier], **values, "updatedOn": at}

    def revoke(self) -> None:
        self.tokens.clear()

    def calls(self, path: str) -> list[Seen]:
        return [seen for seen in self.requests if seen.path == path]

    # -- What it answers -----------------------------------------------------------------------------

    def answer(self, method: str, target: str, authorization: str, body: bytes) -> Answer | None:
        """Status and document; a text goes as it is. None: the connection is closed."""
        parts = urlsplit(target)
        path, query = parts.path.removeprefix("/v1"), dict(parse_qsl(parts.query))
        if path == "/accessTokens":
            result = self._token(dict(parse_qsl(body.decode()))) if method == "POST" else (405, "")
        else:
            result = self._guarded(path, query, authorization)
        with self._lock:
            self.requests.append(Seen(path, query, self.clock(), result[0] if result else 0))
        return result

    def _token(self, form: Mapping[str, str]) -> Answer:
        wanted = {
            "grant_type": "client_credentials", "client_id": ACCOUNT_ID, "client_secret": SECRET, "scope": "general"
        }  # fmt: skip
        if form != wanted:
            return 401, {"error": "invalid_client", "message": "Client authentication failed"}
        with self._lock:
            name = f"token-{len(self.requests)}-{len(self.tokens)}"
            self.tokens[name] = Token(self.clock() + self.token_delay, self.clock() + TWO_YEARS)
        token = {"token_type": "Bearer", "expires_in": TWO_YEARS, "access_token": name}
        return 200, {"status": "success", "result": token} if self.tokens_wrapped else token

    def _guarded(self, path: str, query: Mapping[str, str], authorization: str) -> Answer | None:
        token, now = self.tokens.get(authorization.removeprefix("Bearer ")), self.clock()
        if token is None or not token.usable_at <= now < token.ends_at:
            return 403, fail("Your access token is wrong, has expired or was revoked.")
        if self.has_limits and not self._is_within_limits(now):
            return 429, fail("Too many requests")
        match self.modes.get(path, self.mode):
            case "failing":
                return 500, fail("Something went wrong")
            case "busy":
                return 429, fail("Too many requests")
            case "garbage":
                return 200, '{"status": "succ'
            case "html":
                return 200, "<!doctype html><title>Log in</title>"
            case "fail":
                return 200, fail("The parameter is not right")
            case "down":
                return None
            case "slow":
                self.released.wait(PATIENCE)
        answer = self._resource(path, query)
        self.after_page(path)
        return answer

    def _is_within_limits(self, now: float) -> bool:
        """A call that is refused does not count; all come from one address, which has the lower limit."""
        with self._lock:
            self._accepted = [at for at in self._accepted if at > now - WINDOW_SECONDS]
            if len(self._accepted) >= min(IP_LIMIT, ACCOUNT_LIMIT):
                return False
            self._accepted.append(now)
            return True

    def _resource(self, path: str, query: Mapping[str, str]) -> Answer:
        kind, _, identifier = path.removeprefix("/").partition("/")
        if path == "/guestPayments/charges":
            if self.finance_status != 200:
                return self.finance_status, fail("This is not enabled for your account")
            return self._list(sorted(self.charges.values(), key=lambda row: row["id"]), query)
        rows = {"listings": self.listings, "reservations": self.reservations}.get(kind)
        if rows is None:
            return 404, fail("There is no such page")
        if identifier:
            row = rows.get(int(identifier))
            return (200, {"status": "success", "result": row}) if row else (404, fail("Resource not found"))
        found = [row for row in rows.values() if _changed_since(row, query.get("latestActivityStart", ""))]
        if kind == "reservations":
            found.sort(key=lambda row: (row["updatedOn"], row["id"]), reverse=True)
        return self._list(found, query)

    def _list(self, rows: list[Row], query: Mapping[str, str]) -> Answer:
        limit, offset = min(int(query.get("limit", 100)), self.most_rows), int(query.get("offset", 0))
        if "afterId" in query:
            places = [place for place, row in enumerate(rows, start=1) if row["id"] == int(query["afterId"])]
            offset = places[0] if places else 0
        count: int | str = str(len(rows)) if self.counts_as_text else len(rows)
        return 200, {
            "status": "success",
            "result": rows[offset : offset + limit],
            "limit": limit,
            "offset": None if "afterId" in query else offset,
            "count": count,
            "page": offset // limit + 1,
            "totalPages": -(-len(rows) // limit),
        }


def fail(message: str) -> Row:
    return {"status": "fail", "message": message}


def charge(row: Row) -> Row:
    """A guest charge, with its 26 documented fields, of an invented transaction."""
    empty = dict.fromkeys(EMPTY_OF_A_CHARGE)
    same = {name: row[name] for name in SAME_OF_A_CHARGE}
    moment = {"chargeDate": row["insertedOn"], "isManual": 0, "triggerTimeDelta": 0, "transactions": []}
    return {**empty, **same, **moment}


def _changed_since(row: Row, day: str) -> bool:
    return (row.get("updatedOn") or "9999") >= day


@contextmanager
def hostaway(**choices: Any) -> Iterator[Hostaway]:
    upstream = Hostaway(**choices)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            authorization = self.headers.get("Authorization", "")
            answer = upstream.answer(self.command, self.path, authorization, body)
            if answer is None:
                self.close_connection = True
                return
            status, document = answer
            is_text = isinstance(document, str)
            data = document if isinstance(document, bytes) else (document if is_text else json.dumps(document)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if is_text else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        upstream.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield upstream
        finally:
            upstream.released.set()
            server.shutdown()
            thread.join()
