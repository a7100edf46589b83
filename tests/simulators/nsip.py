"""NSIP Search over real HTTP on loopback, with invented sheep (nsip_sheep.py).

    with nsip_simulator() as nsip:
        NSIPClient(base_url=nsip.url)
        nsip.mode = "busy"; nsip.received[-1].query; nsip.counts["search/getPageOfSearchResults"]

`mode` is how it answers: new, legacy (the PascalCase shapes of before), slow (when `release` is set), busy (429),
failing (503), garbage, login (an HTML page), anonymous (200 without identity), empty, down (hangs up).
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.patience import PATIENCE
from tests.simulators.nsip_sheep import BREEDS, GROUPS, STATUSES, TRAITS, Sheep, Unknown, date_text, found

PROGENY, ANCESTORS = 25, 5
RETRY_AFTER = 17
LOGIN = b"<!DOCTYPE html><html><body><form action='/login'>Sign in</form></body></html>"


@dataclass(frozen=True)
class Received:
    """`headers` by lower-case names."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass
class NsipSimulator:
    url: str = ""
    mode: str = "new"
    accuracies: int = 1  # of what full accuracy is: 1 or 100
    received: list[Received] = field(default_factory=list)
    details: dict[str, dict[str, Any]] = field(default_factory=dict)  # by LPN: what is merged into `data`
    divs: dict[str, str] = field(default_factory=dict)  # by LPN: HTML that is added to its lineage
    release: threading.Event = field(default_factory=threading.Event)
    waiting: threading.Event = field(default_factory=threading.Event)

    @property
    def counts(self) -> Counter[str]:
        return Counter(each.path for each in self.received)

    @property
    def is_legacy(self) -> bool:
        return self.mode == "legacy"

    # -- Calls ------------------------------------------------------------------------------------------

    def answer(self, path: str, query: Mapping[str, str], body: Any) -> Any:
        calls: dict[str, Callable[[Mapping[str, str], Any], Any]] = {
            "search/getDateLastUpdated": lambda query, body: "2024-12-15" if self.is_legacy else {"date": "09/23/2025"},
            "search/getAvailableBreedGroups": self.breed_groups,
            "search/getStatusesByBreedGroup": lambda query, body: STATUSES,
            "search/getTraitRangesByBreed": self.trait_ranges,
            "search/getPageOfSearchResults": self.search,
            "details/getAnimalDetails": self.animal,
            "details/getLineage": self.lineage,
            "details/getPageOfProgeny": self.progeny,
        }
        if path not in calls:
            raise Unknown
        return calls[path](query, body)

    def breed_groups(self, query: Mapping[str, str], body: Any) -> Any:
        if self.is_legacy:
            return [{"Id": number, "Name": name} for number, (name, _) in GROUPS.items()]
        groups = [
            {
                "breedGroupId": number,
                "breedGroupName": name,
                "breeds": [{"breedId": breed, "breedName": BREEDS[breed][0]} for breed in breeds],
            }
            for number, (name, breeds) in GROUPS.items()
        ]
        return {"success": True, "data": groups}

    def trait_ranges(self, query: Mapping[str, str], body: Any) -> Any:
        if self.is_legacy or query["breedId"] == "486":
            return {"BWT": {"min": -0.713, "max": 0.0}, "WWT": {"min": -1.234, "max": 2.456}}
        return {"rangeBWT": "-0.891 - 1.299", "rangeWWT": "-3.022 - 6.153", "rangeNLB": "-3 - -1", "rangeYSL": None}

    def search(self, query: Mapping[str, str], body: Any) -> Any:
        numbers = found(query.get("breedId"), json.dumps(body), query.get("sortedBreedTrait"), query.get("reverse"))
        start, size = int(query["page"]) * int(query["pageSize"]), int(query["pageSize"])
        rows = [self.row(Sheep(*number)) for number in numbers[start : start + size]]
        if self.is_legacy:
            return {"TotalCount": len(numbers), "Results": rows}
        return {"recordCount": len(numbers), "records": rows}

    def animal(self, query: Mapping[str, str], body: Any) -> Any:
        sheep = Sheep.of(query["searchString"])
        return self.legacy_animal(sheep) if self.is_legacy else {"success": True, "data": self.new_animal(sheep)}

    def lineage(self, query: Mapping[str, str], body: Any) -> Any:
        node = self.node(Sheep.of(query["lpnId"]), ANCESTORS)
        return node if self.is_legacy else {"success": True, "data": node}

    def progeny(self, query: Mapping[str, str], body: Any) -> Any:
        sheep = Sheep.of(query["lpnId"])
        start, size = int(query["page"]) * int(query["pageSize"]), int(query["pageSize"])
        lambs = [Sheep(sheep.breed, (sheep.number + 1 + each) % BREEDS[sheep.breed][1]) for each in range(PROGENY)]
        lambs = lambs[start : start + size]
        if self.is_legacy:
            return {"TotalCount": PROGENY, "Results": [_legacy_lamb(lamb) for lamb in lambs]}
        rows = [{"lpnId": lamb.lpn, "sex": lamb.gender[0], "dob": date_text(lamb.born)} for lamb in lambs]
        return {"recordCount": PROGENY, "records": rows}

    # -- Animals ----------------------------------------------------------------------------------------

    def row(self, sheep: Sheep) -> dict[str, Any]:
        if self.is_legacy:
            return {name: value for name, value in self.legacy_animal(sheep).items() if name != "ContactInfo"}
        row = {"lpnId": sheep.lpn, "lpnSre": sheep.parent(1).lpn, "lpnDam": sheep.parent(0).lpn}
        row |= {"gender": sheep.gender, "status": sheep.status, "regNumber": "", "dateOfBirth": date_text(sheep.born)}
        for trait in TRAITS:
            row |= {trait: sheep.value(trait), f"acc{trait}": round(sheep.accuracy(trait) * self.accuracies, 2)}
        return row

    def new_animal(self, sheep: Sheep) -> dict[str, Any]:
        return {
            "progenyCount": PROGENY,
            "dateOfBirth": date_text(sheep.born),
            "gender": sheep.gender,
            "genotyped": "50K Genotyped",
            "flockCount": "1",
            "breed": {"breedName": BREEDS[sheep.breed][0], "breedId": sheep.breed},
            "searchResultViewModel": self.row(sheep),
            "contactInfo": {
                "flockCode": sheep.flock,
                "farmName": f"Farm {sheep.flock}",
                "customerName": "Example Breeder",
                "phone": "555-0100",
                "email": "breeder@example.com",
                "city": "Raleigh",
                "state": "NC",
            },
            **self.details.get(sheep.lpn, {}),
        }

    def legacy_animal(self, sheep: Sheep) -> dict[str, Any]:
        return {
            "LpnId": sheep.lpn,
            "Breed": BREEDS[sheep.breed][0],
            "BreedGroup": "Hair",
            "DateOfBirth": date_text(sheep.born),
            "Gender": sheep.gender,
            "Status": sheep.status,
            "Sire": sheep.parent(1).lpn,
            "Dam": sheep.parent(0).lpn,
            "TotalProgeny": PROGENY,
            "Genotyped": "No",
            "Traits": {
                trait.upper(): {"Value": sheep.value(trait), "Accuracy": int(sheep.accuracy(trait) * 100)}
                for trait in TRAITS[:5]
            },
            "ContactInfo": {"FarmName": f"Farm {sheep.flock}", "Phone": "555-0100", "Email": "breeder@example.com"},
            **self.details.get(sheep.lpn, {}),
        }

    def node(self, sheep: Sheep, generations: int) -> dict[str, Any]:
        facts = [f"Farm {sheep.flock}", f"US Hair Index: {100 + sheep.number % 13}.5", f"SRC$ Index: {110.25}"]
        facts += [f"DOB: {date_text(sheep.born)}", f"Sex: {sheep.gender}", f"Status: {sheep.status}"]
        content = "".join(f"<div>{fact}</div>" for fact in facts) + self.divs.get(sheep.lpn, "")
        parents = [self.node(sheep.parent(side), generations - 1) for side in (1, 0)] if generations else []
        return {"lpnId": sheep.lpn, "content": content, "children": parents}


def _legacy_lamb(lamb: Sheep) -> dict[str, Any]:
    return {
        "LpnId": lamb.lpn,
        "Sex": lamb.gender,
        "DateOfBirth": date_text(lamb.born),
        "Traits": {"BWT": lamb.value("bwt")},
    }


# -- Over HTTP ------------------------------------------------------------------------------------------


@contextmanager
def nsip_simulator(mode: str = "new") -> Iterator[NsipSimulator]:
    simulator = NsipSimulator(mode=mode)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(simulator)) as server:
        simulator.url = f"http://127.0.0.1:{server.server_port}/api"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield simulator
        finally:
            simulator.release.set()
            if thread.is_alive():  # In a forked child it is not, and shutdown would wait for it forever.
                server.shutdown()
                thread.join()


def _handler(simulator: NsipSimulator) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.handle_call(None)

        def do_POST(self) -> None:
            self.handle_call(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def handle_call(self, sent: bytes | None) -> None:
            url = urlsplit(self.path)
            path, query = url.path.removeprefix("/api/"), dict(parse_qsl(url.query))
            received = Received(
                self.command, path, query, {name.lower(): value for name, value in self.headers.items()}, sent
            )
            simulator.received.append(received)
            if simulator.mode == "slow":
                simulator.waiting.set()
                simulator.release.wait(PATIENCE)
            if simulator.mode != "down":
                with suppress(ConnectionError):  # who asked may have hung up
                    self.reply(*self.answered(received))

        def answered(self, received: Received) -> tuple[int, bytes, str]:
            modes = {
                "busy": (429, b"", "text/plain"),
                "failing": (503, b"Service Unavailable", "text/plain"),
                "garbage": (200, b'{"success": true, "data": {"lpn', "application/json"),
                "login": (200, LOGIN, "text/html; charset=utf-8"),
                "anonymous": (200, b'{"success": false, "message": "Object reference not set"}', "application/json"),
                "empty": (200, b"", "application/json"),
            }
            return modes[simulator.mode] if simulator.mode in modes else self.called(received)

        def called(self, received: Received) -> tuple[int, bytes, str]:
            body = None
            if received.path.endswith("getPageOfSearchResults"):
                if received.method != "POST" or self.headers.get("Content-Type") != "application/json":
                    return 415, b"Unsupported Media Type", "text/plain"
                if not received.body:
                    return 400, b"A non-empty request body is required.", "text/plain"
                body = json.loads(received.body)
            try:
                answer = simulator.answer(received.path, received.query, body)
            except Unknown:
                return 404, b"Not Found", "text/plain"
            return 200, json.dumps(answer).encode(), "application/json; charset=utf-8"

        def reply(self, status: int, body: bytes, media_type: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", str(RETRY_AFTER))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    return Handler
