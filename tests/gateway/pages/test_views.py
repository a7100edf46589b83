"""The pages that people open: home, the admin's frame, the API docs, and what is shown when something is missing."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from context_protection.breaker import OPENS_AFTER
from context_protection.core.cache_budget import ENTRY_BYTES, Cache, cache_budget
from context_protection.models import TokenBudget
from gateway.catalog.catalog import catalogue
from gateway.dispatch.configuration import current
from gateway.error_pages import server_error
from gateway.upstreams.client import Upstream
from gateway.upstreams.registry import upstreams
from telemetry import recorder
from telemetry.lights import lights_now
from tests.telemetry.alerts.examples import an_alert
from tests.telemetry.examples import a_call, a_summary, stored

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
POLICY = (
    "default-src 'self'; img-src 'self' data:; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)


def text(response):
    return unescape(response.content.decode())


def directives(policy):
    return {directive.strip() for directive in policy.split(";")}


# -- Home -------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_home_shows_what_is_running(admin_client):
    now = timezone.now()
    stored(a_call(at=now), *[a_summary(at=now)] * 2)
    page = text(admin_client.get("/"))
    assert "Running" in page
    assert "Tokens sent, Claude’s count" in page
    assert f"{3 * 1000:,}" in page
    assert f"{int((900 + 2 * 6000) * 3000 / 5700) - 3000:,}" in page
    assert "Calls in the last 24 hours" in page


@pytest.mark.django_db
def test_home_has_nothing_to_divide_before_the_first_call(admin_client):
    page = text(admin_client.get("/"))
    assert "The first call of a client shows up here." in page
    assert "Tokens saved" not in page


@pytest.mark.django_db
def test_home_lists_every_operation_with_its_address(admin_client):
    page = text(admin_client.get("/"))
    for operation in catalogue:
        assert operation.name in page
        assert operation.description in page
        assert operation.endpoint in page


@pytest.mark.django_db
def test_home_says_how_to_connect_to_this_very_host(admin_client):
    page = text(admin_client.get("/", headers={"host": "localhost:9000"}))
    assert '"url":"ws://localhost:9000/mcp/ws"' in page
    assert '"url":"http://localhost:9000/mcp"' in page
    assert "'http://localhost:9000/api/v1/bookings'" in page
    assert page.count("YOUR_KEY") >= 4
    for address in ("/admin/", "/api/docs/", "/health"):
        assert f'href="{address}"' in page


@pytest.mark.django_db
def test_home_behind_tls_connects_with_tls(admin_client):
    page = text(admin_client.get("/", secure=True, headers={"host": "localhost"}))
    assert '"url":"wss://localhost/mcp/ws"' in page
    assert '"url":"https://localhost/mcp"' in page


@pytest.mark.django_db
def test_snippets_are_valid_json(admin_client):
    page = text(admin_client.get("/"))
    snippets = re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    assert len(snippets) == 9
    for snippet in snippets[3:6]:
        assert "YOUR_KEY" in json.dumps(json.loads(snippet))
    for snippet in snippets[:2]:
        assert json.loads(re.search(r"'(\{.*\})'", snippet)[1])["headers"] == {"Authorization": "Bearer YOUR_KEY"}
    assert json.loads(snippets[2])["mcpServers"]["sluice"]["env"]["SLUICE_API_KEY"] == "YOUR_KEY"


@pytest.mark.django_db
def test_home_shows_no_secret(admin_client, api_key):
    page = text(admin_client.get("/"))
    for secret in (api_key, api_key[:10], settings.SECRET_KEY):
        assert secret not in page


@pytest.mark.django_db
def test_home_has_the_real_path_for_claude_desktop(admin_client, monkeypatch):
    monkeypatch.setenv("DATA_DIR", "/srv/sluice data")
    monkeypatch.setenv("DATABASE_URL", "postgres://sluice:hidden-password@localhost/sluice")
    page = text(admin_client.get("/"))
    server = json.loads(re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)[2])["mcpServers"]["sluice"]
    assert [Path(server["command"]), Path(server["args"][0])] == [Path(sys.executable), settings.BASE_DIR / "manage.py"]
    assert server["env"]["DATA_DIR"] == "/srv/sluice data"
    assert server["env"]["DATABASE_URL"] == "YOUR_DATABASE_URL"
    assert "hidden-password" not in page
    assert "/path/to" not in page


@pytest.mark.django_db
@pytest.mark.parametrize("is_public", [True, False])
def test_home_shows_the_path_to_staff_only(client, settings, api_key, is_public):
    settings.PUBLIC_PAGES = is_public
    page = text(client.get("/", headers={} if is_public else {"authorization": f"Bearer {api_key}"}))
    assert "/path/to/sluice/manage.py" in page
    for path in (sys.executable, str(settings.BASE_DIR), str(settings.DATA_DIR)):
        assert path not in page


@pytest.mark.django_db
def test_home_asks_the_database_no_more_than_health(admin_client):
    """Once, home read the lights twice."""
    current()  # the configuration is in memory, as after any call
    lights_now()  # what is usual was read
    with CaptureQueriesContext(connection) as of_health:
        admin_client.get("/health")
    with CaptureQueriesContext(connection) as of_home:
        admin_client.get("/")
    assert 5 < len(reads(of_health)) <= 24
    assert len(reads(of_home)) <= len(reads(of_health))


def reads(queries: CaptureQueriesContext) -> list[str]:
    """Savepoints and time limits are no reads."""
    return [each["sql"] for each in queries if " FROM " in each["sql"] and "current_setting(" not in each["sql"]]


@pytest.mark.django_db
def test_home_says_that_an_alert_is_open(admin_client):
    assert "alert is open" not in text(admin_client.get("/"))
    an_alert()
    page = text(admin_client.get("/"))
    assert "An alert is open." in page
    assert "6 of 100" not in page
    assert admin_client.get("/health").json()["openAlerts"] == 1


# -- Content-Security-Policy ------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/api/docs/",
        "/nothing-here",
        "/admin/",
        "/admin/budgets/",
        "/admin/context_protection/tokenbudget/add/",
        "/admin/context_protection/tokenbudget/{budget}/change/",
        "/admin/context_protection/tokenbudget/{budget}/history/",
        "/admin/access/apikey/add/",
    ],
)
def test_no_page_needs_more_than_the_strict_policy(admin_client, address):
    budget = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    response = admin_client.get(address.format(budget=budget.pk), headers=BROWSER)
    page = response.content.decode()
    assert "<html" in page
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    for script in re.findall(r"<script\b[^>]*>", page):
        assert "src=" in script or 'type="application/json"' in script, script
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert directives(response.headers["Content-Security-Policy"]) == directives(POLICY)


# -- Admin ------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_admin_leads_ops_to_token_budgets_first(admin_client):
    page = text(admin_client.get("/admin/"))
    tasks = re.findall(r'<li><a href="([^"]+)"><strong>', page)
    assert tasks[0] == "/admin/budgets/"
    for address in tasks:
        assert admin_client.get(address).status_code == 200


@pytest.mark.django_db
def test_the_admin_offers_only_what_its_user_may_see(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    page = text(client.get("/admin/"))
    assert "Set token budgets" not in page
    assert "API keys" not in page


@pytest.mark.django_db
def test_a_saved_budget_can_be_opened_again(admin_client):
    budget = TokenBudget.objects.create(operation="list_bookings", token_budget_threshold=1500)
    page = text(admin_client.get(f"/admin/context_protection/tokenbudget/{budget.pk}/change/"))
    assert 'value="1500"' in page
    assert "set here" in page


# -- Errors -----------------------------------------------------------------------------------------


def test_browsers_get_a_page_when_nothing_is_there(client):
    response = client.get("/nothing-here", headers=BROWSER)
    assert response.status_code == 404
    assert response.headers["Content-Type"].startswith("text/html")
    assert "There is nothing at this address" in text(response)
    assert 'href="/api/docs/"' in text(response)
    assert len(response.content) < 2000


@pytest.mark.parametrize(
    ("address", "accept"),
    [
        ("/nothing-here", "*/*"),
        ("/nothing-here", "application/json"),
        ("/nothing-here", "application/json, text/html;q=0.5"),
        ("/api/nothing-here", BROWSER["accept"]),
        ("/api/v1/nothing/here", BROWSER["accept"]),
        ("/mcp/nothing-here", BROWSER["accept"]),
    ],
)
def test_programs_get_json_when_nothing_is_there(client, address, accept):
    response = client.get(address, headers={"accept": accept})
    assert response.status_code == 404
    assert response.json()["error"]["reason"] == "unknown_address"


def test_a_failure_is_told_to_browsers_without_the_database():
    response = server_error(RequestFactory().get("/", headers=BROWSER))
    assert response.status_code == 500
    assert response.headers["Content-Type"].startswith("text/html")
    assert "Something failed on our side" in text(response)
    assert len(response.content) < 2000


def test_a_failure_is_told_to_programs_as_json():
    response = server_error(RequestFactory().get("/api/v1/bookings", headers=BROWSER))
    assert response.status_code == 500
    assert json.loads(response.content)["error"]["reason"] == "internal_error"


@pytest.fixture
def clerk(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    return client


@pytest.mark.django_db
def test_browsers_get_a_page_where_the_user_lacks_the_permission(clerk):
    response = clerk.get("/admin/access/apikey/", headers=BROWSER)
    assert response.status_code == 403
    shown = text(response)
    assert "You may not open this page" in shown
    assert "You have no role yet, and cannot see API keys." in shown
    assert "<strong>clerk</strong>" in shown
    for address in ("/", "/admin/", "/api/docs/"):
        assert f'href="{address}"' in shown


@pytest.mark.django_db
def test_programs_get_json_where_the_user_lacks_the_permission(clerk):
    response = clerk.get("/admin/access/apikey/", headers={"accept": "application/json"})
    assert response.status_code == 403
    assert response.json()["error"]["reason"] == "not_permitted"


@pytest.mark.parametrize(("accept", "expected"), [(BROWSER["accept"], "<h1>"), ("*/*", '"csrf_failed"')])
def test_a_form_without_its_token_is_told_in_the_form_that_is_asked_for(accept, expected):
    response = Client(enforce_csrf_checks=True).post("/admin/login/", headers={"accept": accept})
    assert response.status_code == 403
    assert expected in text(response)


# -- Health: upstreams and success criteria -----------------------------------------------------------


def bad_request(response) -> dict[str, str]:
    error = json.loads(response.content)["error"]
    assert (response.status_code, error["reason"]) == (400, "bad_request")
    return error["data"]


@pytest.mark.django_db
def test_only_a_wrong_host_is_told_about_hosts(admin_client, settings):
    settings.ALLOWED_HOSTS = ["testserver"]
    wrong = bad_request(admin_client.get("/admin/", headers={"host": "elsewhere.example.com"}))
    assert (wrong["parameter"], wrong["value"]) == ("Host", "elsewhere.example.com")
    assert "ALLOWED_HOSTS" in wrong["suggestion"]
    for response in (
        admin_client.get("/admin/auth/user/?password__startswith=a"),
        admin_client.generic("POST", "/admin/login/", b"abc", content_type="multipart/form-data"),
    ):
        other = bad_request(response)
        assert other["suggestion"] == "Check the address and the form."
        assert "parameter" not in other
        assert "HOST" not in str(other).upper()


@pytest.fixture
def dead_upstream() -> Iterator[None]:
    """One that has failed several times in a row."""
    upstream = Upstream("acme")
    for _ in range(OPENS_AFTER):
        upstream._breaker.failed()
    upstreams.register(upstream)
    yield
    upstreams.remove("acme")


def test_health_is_degraded_while_an_upstream_is_down(admin_client, dead_upstream):
    document = admin_client.get("/health").json()
    assert (document["status"], document["upstreamsDown"]) == ("degraded", ["acme"])


def test_health_shows_the_one_limit_of_all_caches_and_who_uses_it(admin_client):
    kept = Cache[str, bytes]("test", cache_budget)
    kept.put("key", bytes(1000), 1000)
    caches = admin_client.get("/health").json()["caches"]
    assert caches["limitBytes"] == 16 * 2**20
    assert caches["byCache"]["test"] == 1000 + ENTRY_BYTES
    assert caches["usedBytes"] == sum(caches["byCache"].values()) <= caches["limitBytes"]
    kept.clear()


def test_home_never_says_running_while_an_upstream_is_down(admin_client, dead_upstream):
    page = admin_client.get("/").content.decode()
    assert "Running, but acme is down" in page
    assert "state-ok" not in page


def test_an_upstream_that_is_tried_again_is_still_down(admin_client, dead_upstream):
    upstreams.get("acme")._breaker._open_until = 0.0  # its cooldown is over
    assert admin_client.get("/health").json()["upstreamsDown"] == ["acme"]


def test_health_is_degraded_while_another_process_sees_an_upstream_down(admin_client):
    now = datetime.now(UTC)
    stored(*[a_call(at=now, upstream="acme", origin="upstream", outcome="error")] * 6)
    document = admin_client.get("/health").json()
    assert (document["status"], document["upstreamsDown"]) == ("degraded", ["acme"])


def test_success_criteria_are_judged_by_measured_figures(admin_client):
    good = {"operation": "nsip_get_animal", "outcome": "summarized", "original_tokens": 10_000, "at": datetime.now(UTC)}
    for _ in range(19):
        recorder.record(a_call(**good, estimated_tokens=1_000))
    recorder.record(
        a_call(operation="nsip_get_animal", outcome="error", error_reason="invalid_lpn", at=datetime.now(UTC))
    )
    recorder.flush()
    document = admin_client.get("/health").json()
    criteria = document["successCriteria"]
    assert criteria["SC-002"] == {
        "what": "tokens left out by summaries, share",
        "value": 0.9,
        "target": 0.7,
        "n": 19,
        "isMet": True,
    }
    assert (criteria["SC-003"]["value"], criteria["SC-003"]["n"]) == (0.95, 20)
    assert document["meets_success_criteria"] == {name: each["isMet"] for name, each in criteria.items()}
    recorder.record(a_call(**good, estimated_tokens=9_900_000))
    recorder.flush()
    assert admin_client.get("/health").json()["meets_success_criteria"]["SC-002"] is False


def test_what_was_never_measured_is_neither_met_nor_missed(admin_client):
    assert admin_client.get("/health").json()["meets_success_criteria"]["SC-002"] is None
