"""An existing project is protected by settings alone: over WSGI and ASGI, whatever its views are made of."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from context_protection.core import tokens
from tests import crawler

ROOT = Path(__file__).resolve().parents[2]
CAP = 12_000
LONG = "x" * 201


@dataclass(frozen=True)
class Project:
    client: httpx2.Client

    def get(self, address: str, query: Mapping[str, Any] | None = None, **headers: str) -> httpx2.Response:
        return self.client.get(address, params=query, headers=headers)

    def answer(self, address: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A protected answer, which is never over the cap (law 1)."""
        response = self.get(address, query)
        assert response.status_code == 200, response.text
        assert tokens.claude.count(response.text) <= CAP
        document: dict[str, Any] = response.json()
        assert "_meta" not in document  # it was protected once
        return document

    def rows(self, address: str, query: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        return crawler.walk(self.answer, address, query or {})

    def whole(self, address: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The whole object, by following the preview's own instructions."""
        answer = self.answer(address, query)
        if crawler.is_preview(answer):
            more = answer["meta"]["detailsAvailable"]
            address, query = more["endpoint"], more["parameters"]
        return crawler.from_parts(self.answer, address, query or {})

    def calls(self, operation: str) -> list[dict[str, Any]]:
        return [call for call in self.get("/calls/").json() if call["operation"] == operation]

    def error(self, address: str, query: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        response = self.get(address, query)
        error: dict[str, Any] = response.json()["error"]
        return response.status_code, error


@contextmanager
def running(kind: str, data: Path, **environment: str) -> Iterator[Project]:
    with (
        (data / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "tests.brownfield.serve", kind],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "BROWNFIELD_DATA": str(data), **environment},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port, (data / "log").read_text()
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                yield Project(client)
        finally:
            process.terminate()


@pytest.fixture(scope="module", params=["wsgi", "asgi"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with running(request.param, tmp_path_factory.mktemp(request.param)) as served:
        yield served


# -- Lists ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "count"),
    [
        ("/orders/", 300),  # the project's paginator and renderer
        ("/plain-orders/", 300),  # a renderer of its own
        ("/offset-orders/", 300),  # a paginator of its own, which pages only when asked to
        ("/parcels/", 120),  # keys that are no whole numbers
        ("/orders/parcels/", 120),  # a further list, of another model
        ("/orders/brief/", 300),  # the same model, serialized otherwise
        ("/orders/customers/", 300),  # values instead of objects
        ("/rows/", 400),  # a plain view
        ("/later/", 400),  # an async one
        ("/customers/1/rows/", 400),
    ],
)
def test_a_list_comes_in_pages_that_fit_and_every_row_once(project: Project, address: str, count: int):
    first = project.answer(address)
    assert first["nextCursor"]
    assert first["meta"]["estimatedTokens"] <= 4000
    rows = project.rows(address, {"fields": "all"})
    assert len(rows) == count
    assert len({row.get("id") for row in rows}) == count


def test_the_views_own_order_holds_and_its_filters_do_to_the_end_of_the_walk(project: Project):
    first = project.answer("/orders/", {"status": "closed", "limit": 20})
    second = project.answer("/orders/", {"cursor": first["nextCursor"]})
    rows = crawler.rows(first) + crawler.rows(second)
    assert {row["status"] for row in rows} == {"closed"}
    assert first["meta"]["totalCount"] == 100
    assert [row["placed_at"] for row in rows] == sorted((row["placed_at"] for row in rows), reverse=True)


def test_a_further_list_of_a_view_is_serialized_as_it_does_it(project: Project):
    assert project.rows("/orders/users/", {"limit": 1, "fields": "all"}) == [{"name": "ann"}, {"name": "bob"}]
    assert set(project.rows("/orders/brief/", {"limit": 150})[299]) == {"id", "double"}


@pytest.mark.parametrize("query", [{}, {"limit": 1}, {"limit": 20}])
def test_a_view_may_leave_rows_out_of_a_page(project: Project, query: dict[str, Any]):
    rows = project.rows("/orders/every_third/", query)
    assert [row["value"] for row in rows] == [f"Customer {n}" for n in range(2, 300, 3)]


def test_a_views_own_page_and_page_size_stay_its_own_and_are_bound_in_the_walk(project: Project):
    query = {"page": "2", "page_size": "150", "limit": "40"}
    assert [row["id"] for row in project.rows("/rows/", query)] == list(range(150, 300))
    cursor = project.answer("/rows/", query)["nextCursor"]
    status, error = project.error("/rows/", {**query, "page": "3", "cursor": cursor})
    assert (status, error["reason"]) == (400, "cursor_mismatch")


def test_a_view_may_change_its_form_during_a_walk(project: Project):
    """Where the walk keeps what it goes over it goes on, and else it says that it cannot."""
    forms = ("walked", "sliced", "object")
    cursors = {}
    for form in forms:
        project.client.post("/changing-orders/", json={"form": form})
        cursors[form] = project.answer("/changing-orders/", {"fields": "all"})["nextCursor"]
    for form in forms:
        project.client.post("/changing-orders/", json={"form": form})
        for issued, cursor in cursors.items():
            response = project.get("/changing-orders/", {"cursor": cursor})
            goes_on = issued != "walked" or form == "walked"
            assert response.status_code == (200 if goes_on else 400), (issued, form, response.text)


def test_a_cursor_is_of_one_address(project: Project):
    cursor = project.answer("/customers/1/rows/")["nextCursor"]
    status, error = project.error("/customers/2/rows/", {"cursor": cursor})
    assert (status, error["reason"]) == (400, "cursor_mismatch")


@pytest.mark.parametrize("address", ["/orders/", "/report/"])
def test_a_cursor_is_of_one_user(project: Project, address: str):
    query = {"fields": "all"}
    cursor = project.client.get(address, params=query, auth=("ann", "ann")).json()["nextCursor"]
    for user, status in (("ann", 200), ("bob", 400)):
        assert project.client.get(address, params={"cursor": cursor}, auth=(user, user)).status_code == status
    assert project.get(address, {"cursor": cursor}).status_code == 400


def test_numbers_are_exact_and_a_list_of_no_objects_comes_in_parts(project: Project):
    items = project.whole("/numbers/")["items"]
    assert items[:2] == [str(2**70), "NaN"]
    assert items[2:] == list(range(30_000))


def test_a_value_that_was_sent_twice_is_in_the_hint_twice(project: Project):
    details = project.answer("/document/", {"tag": ["a", "b"]})["meta"]["detailsAvailable"]
    assert details["parameters"] == {"tag": ["a", "b"], "fields": "all"}


# -- Objects ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["/report/", "/document/"])
def test_a_large_object_is_a_preview_that_leads_to_the_whole(project: Project, address: str):
    assert crawler.is_preview(project.answer(address))
    whole = project.whole(address)
    assert len(whole) == 40
    assert all(len(chapter["paragraphs"]) == 20 for chapter in whole.values())
    section = project.answer(address, {"fields": "chapter7"})
    assert crawler.own(section) == {"chapter7": whole["chapter7"]}


def test_what_a_views_own_paginator_gives_is_an_object_and_its_limit_and_offset_are_its_own(project: Project):
    page = project.whole("/offset-orders/", {"limit": "100", "offset": "30"})
    assert (page["count"], len(page["results"])) == (300, 100)
    assert page["results"][0]["customer"] == "Customer 30"


def test_a_views_own_cursors_lead_on_beside_ours(project: Project):
    seen: list[str] = []
    query: dict[str, Any] = {}
    for _ in range(5):
        page = project.whole("/cursor-orders/", query)
        seen += [order["customer"] for order in page["results"]]
        query = dict(httpx2.URL(page["next"]).params) if page["next"] else {}
    assert len(set(seen)) == len(seen) == 300


def test_a_text_alone_is_untouched_until_it_is_too_large(project: Project):
    assert project.get("/text/", {"times": 2}).json().count("A long account") == 2
    whole = project.whole("/text/", {"times": 2000})
    assert whole["value"].count("A long account") == 2000


def test_strange_numbers_and_halves_of_characters_break_nothing(project: Project):
    answer = project.answer("/exact/")
    assert crawler.own(answer) == {"number": str(2**70), "price": "1.10", "half": "a?"}


# -- What passes, and what cannot ------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "status"), [("stream", 200), ("status", 404), ("plain", 200)])
def test_streams_other_statuses_and_other_media_types_are_untouched(project: Project, kind: str, status: int):
    response = project.get(f"/untouched/{kind}/")
    assert response.status_code == status
    assert len(response.json()) == 400


def test_a_post_is_untouched(project: Project):
    assert project.client.post("/document/").json()["chapter1"]["title"] == "Chapter 1"


def test_a_compressed_answer_is_protected_before_it_is_compressed(project: Project):
    response = project.get("/document/", **{"accept-encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    assert crawler.is_preview(response.json())


@pytest.mark.parametrize(("address", "query"), [("/nested/", {"depth": 900}), ("/broken/", {"size": 10})])
def test_what_cannot_be_protected_leaves_as_it_is_while_it_is_small(
    project: Project, address: str, query: dict[str, Any]
):
    response = project.get(address, query)
    assert response.status_code == 200
    assert response.text[0] in "[{"


@pytest.mark.parametrize(("address", "query"), [("/nested/", {"depth": 100_000}), ("/broken/", {"size": 200_000})])
def test_what_cannot_be_protected_and_is_too_large_is_an_error(project: Project, address: str, query: dict[str, Any]):
    status, error = project.error(address, query)
    assert (status, error["reason"]) == (500, "not_dividable")


@pytest.mark.parametrize(
    ("address", "query", "status", "reason"),
    [
        ("/orders/", {"limit": "0"}, 400, "invalid_limit"),
        ("/orders/", {"limit": "many"}, 400, "invalid_limit"),
        ("/orders/", {"cursor": "x"}, 400, "cursor_invalid"),
        ("/rows/", {"limit": "100000"}, 400, "invalid_limit"),
        ("/rows/", {"cursor": "gAAAAAforged"}, 400, "cursor_invalid"),
        ("/rows/", {"fields": "nope"}, 400, "unknown_field"),
        ("/document/", {"fields": "chapter99"}, 400, "unknown_field"),
        ("/report/", {"cursor": "gAAAAAforged"}, 400, "cursor_invalid"),
    ],
)
def test_errors_are_as_designed(project: Project, address: str, query: dict[str, str], status: int, reason: str):
    (name,) = query
    answered, error = project.error(address, query)
    assert (answered, error["reason"], error["data"]["parameter"]) == (status, reason, name)


def test_the_projects_own_errors_are_its_own(project: Project):
    assert project.get("/orders/100000/").json() == {"detail": "No Order matches the given query."}


# -- Hints ------------------------------------------------------------------------------------------


def test_a_long_value_is_refused_only_where_a_hint_would_repeat_it(project: Project):
    small = project.answer("/rows/", {"page_size": "3", "search": LONG})
    assert [row["id"] for row in crawler.rows(small)] == [0, 1, 2]

    status, error = project.error("/document/", {"search": LONG})
    assert (status, error["reason"], error["data"]["parameter"]) == (400, "value_too_long", "search")
    status, error = project.error("/document/", {f"name{n}": "x" * 200 for n in range(10)})
    assert (status, error["reason"]) == (400, "value_too_long")

    rest = crawler.from_parts(project.answer, "/document/", {"search": LONG, "fields": "all"})
    assert len(rest) == 40
    assert len(project.rows("/rows/", {"search": LONG * 5, "fields": "all"})) == 400


# -- One policy, and what fails ---------------------------------------------------------------------


def test_a_budget_that_changes_meanwhile_is_obeyed_by_the_next_request(project: Project):
    assert project.answer("/meanwhile/")["meta"]["pageSize"] == 50
    assert project.answer("/meanwhile/")["meta"]["pageSize"] == 5


def test_without_a_store_of_walks_small_answers_come_and_large_ones_are_errors(project: Project):
    try:
        assert project.get("/without-walks/", {"rows": 3}).status_code == 200
    finally:
        project.get("/walks-again/")
    try:
        status, error = project.error("/without-walks/", {"rows": 400})
        assert (status, error["reason"]) == (500, "not_dividable")
    finally:
        project.get("/walks-again/")


# -- Telemetry --------------------------------------------------------------------------------------


def test_every_protected_answer_is_recorded_once(project: Project):
    before = len(project.calls("report")), len(project.calls("order-list"))
    sent = project.answer("/report/")["meta"]["estimatedTokens"]
    project.get("/orders/", {"limit": 0})
    reports, lists = project.calls("report"), project.calls("order-list")
    assert (len(reports), len(lists)) == (before[0] + 1, before[1] + 1)
    assert reports[-1]["estimated_tokens"] == sent
    assert (reports[-1]["kind"], reports[-1]["outcome"], reports[-1]["endpoint"]) == ("record", "summarized", "report/")
    assert (lists[-1]["outcome"], lists[-1]["error_reason"]) == ("error", "invalid_limit")
    assert project.calls("untouched") == project.calls("calls") == []


@pytest.mark.parametrize("recorder", ["", "tests.brownfield.views.fails"])
def test_without_a_recorder_or_with_one_that_fails_the_answer_comes(tmp_path: Path, recorder: str):
    with running("asgi", tmp_path, BROWNFIELD_RECORDER=recorder) as served:
        assert crawler.is_preview(served.answer("/document/"))
        assert served.calls("document") == []


def test_a_recorder_that_does_not_exist_is_told_at_the_start(tmp_path: Path):
    with (
        pytest.raises(AssertionError, match="ModuleNotFoundError"),
        running("wsgi", tmp_path, BROWNFIELD_RECORDER="no.such"),
    ):
        raise NotImplementedError("it has started")
