"""Hashes are Django's own, and computed where they give way."""

import os
import sys
import threading
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, make_password

from gateway.logins.hasher import NICENESS, YieldingHasher

PASSWORD = "orchard-lantern-52"


@pytest.fixture(autouse=True)
def as_outside_of_tests(rounds_of_a_hash: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(YieldingHasher, "iterations", rounds_of_a_hash)


def test_hashes_of_django_and_ours_are_the_same():
    assert YieldingHasher().encode(PASSWORD, "salt") == PBKDF2PasswordHasher().encode(PASSWORD, "salt")
    assert check_password(PASSWORD, PBKDF2PasswordHasher().encode(PASSWORD, "salt"))
    assert make_password(PASSWORD).startswith("pbkdf2_sha256$")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_hashes_are_computed_on_a_thread_that_gives_way(monkeypatch: pytest.MonkeyPatch):
    found: list[tuple[int, int]] = []

    def encode(self: Any, *args: Any) -> str:
        found.append((threading.get_ident(), os.getpriority(os.PRIO_PROCESS, 0)))
        return "hash"

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
    here = os.getpriority(os.PRIO_PROCESS, 0)
    assert YieldingHasher().encode(PASSWORD, "salt") == "hash"
    assert found[0][0] != threading.get_ident()
    assert found[0][1] == min(19, here + NICENESS)
    assert os.getpriority(os.PRIO_PROCESS, 0) == here
