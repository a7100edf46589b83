"""A secret that a caller types where it does not belong appears on no page about calls."""

import json

import pytest
from django.test import Client

from telemetry import arguments, feed, recorder
from telemetry.models import CallArguments, TelemetryRecord

# Invented, in the forms of real kinds of secrets.
TOKEN = "ghp_" + "Zq7Rk2Vw9Xb4Nc6Mt1Lp" + "8Jd3Hf5Gs0Ya"
PASSWORD = "hunter-canary-2f8a"


@pytest.fixture
def admin(db, django_user_model) -> Client:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(django_user_model.objects.create_superuser("admin-1", password="a long password"))
    return client


def calls_with_secrets(api_key: str) -> None:
    client = Client(headers={"Authorization": f"Bearer {api_key}", "X-Api-Token": TOKEN, "User-Agent": f"bot {TOKEN}"})

    def post(tool: str, body: dict) -> None:
        response = client.post(f"/api/v1/tools/{tool}", json.dumps(body), content_type="application/json")
        assert response.status_code >= 400

    post("get_booking", {"id": TOKEN})
    post("list_bookings", {TOKEN: 1})
    post("list_bookings", {"limit": 5, "password": PASSWORD, "where": {"guestName": TOKEN}, "nosuch": TOKEN})
    post("read_document", {"id": f"https://x.example/?access_token={TOKEN}"})
    Client(headers={"Authorization": f"Bearer {TOKEN}"}).get("/api/v1/tools/list_bookings")


def test_a_secret_typed_as_argument_header_or_name_appears_on_no_page(admin, api_key, monkeypatch):
    sent = []
    monkeypatch.setattr(feed.Feed, "_somebody_watches", lambda self: True)
    monkeypatch.setattr(feed, "packed", lambda call: sent.append(call) or {"at": 0.0})
    calls_with_secrets(api_key)
    assert recorder.flush()
    assert arguments.flush()
    assert TelemetryRecord.objects.count() >= 4
    assert CallArguments.objects.exclude(values=None).count() >= 3  # there is something to show
    pages = ["calls/", "live/", "live/calls/?after=0", "accuracy/", "calls/?export=csv", "calls/?export=json"]
    pages += [f"calls/{record.request_id}/" for record in TelemetryRecord.objects.all() if record.request_id]
    for address in pages:
        response = admin.get(f"/telemetry/{address}")
        assert response.status_code == 200, address
        text = response.getvalue().decode()
        assert TOKEN not in text, address
        assert PASSWORD not in text, address
    assert sent
    assert not [call for call in sent if TOKEN in repr(call) or PASSWORD in repr(call)]
