"""The messages of the first start and of later ones."""

import shlex
import sys

from gateway.pages.client_config import welcome, welcome_back
from gateway.process.first_start import FirstCredentials

BASE = "http://127.0.0.1:8000"


def test_the_first_start_shows_login_and_key():
    message = welcome(BASE, FirstCredentials("a-password", "slc_key"))
    assert f"{BASE}/admin/   login admin   password a-password" in message
    assert message.count("slc_key") == 5  # by itself, and in each configuration


def test_a_later_start_shows_the_admin_and_how_to_get_a_key(monkeypatch):
    monkeypatch.setenv("DATA_DIR", "/srv/sluice data")
    message = welcome_back(BASE)
    assert f"{BASE}/admin/" in message
    command = shlex.split(message.partition("in the admin, or: ")[2].partition("\n")[0])
    assert command[:3] == ["env", "DATA_DIR=/srv/sluice data", sys.executable]
    assert command[3].endswith("/manage.py")
    assert command[4:] == ["apikey", "create", "NAME"]
    assert "changepassword admin" in message
    assert "slc_" not in message
