"""Credentials at rest: sealed, opened by any known key, moved to the newest one without a moment of plaintext."""

import os
import subprocess
import sys
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gateway.connectors.hostaway import store
from gateway.upstreams.auth import rotation
from gateway.upstreams.auth.vault import CredentialLost, Vault, ending, vault
from gateway.upstreams.models import UpstreamApi

OLD, NEW, NEWEST = "old-key-" * 5, "new-key-" * 5, "newest-key-" * 4


# -- The vault --------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", ["sk_live_1", "pässwörd 静か", "x" * 8000])
def test_what_was_sealed_is_opened_and_shows_nothing(secret: str):
    sealed = Vault([NEW]).seal(secret)
    assert secret not in sealed
    assert Vault([NEW]).open(sealed, upstream="acme") == secret


def test_equal_secrets_are_not_seen_to_be_equal():
    assert Vault([NEW]).seal("same") != Vault([NEW]).seal("same")


def test_the_first_key_seals_and_all_open():
    sealed = Vault([OLD]).seal("secret")
    assert Vault([NEW, OLD]).open(sealed, upstream="acme") == "secret"
    with pytest.raises(CredentialLost):
        Vault([OLD]).open(Vault([NEW, OLD]).seal("secret"), upstream="acme")


def test_a_lost_key_is_told_with_the_upstream_and_the_way_out():
    sealed = Vault([OLD]).seal("hunter2hunter2")
    with pytest.raises(CredentialLost) as lost:
        Vault([NEW]).open(sealed, upstream="acme")
    error = lost.value.document()["error"]
    assert error["reason"] == "upstream_credentials"
    assert "acme cannot be decrypted" in error["message"]
    assert "enter the credential of acme again" in error["data"]["suggestion"]
    assert sealed not in str(error)
    assert lost.value.__cause__ is None


@pytest.mark.parametrize("sealed", ["nonsense", "gAAAAA", "é"])
def test_what_was_never_sealed_is_lost_and_no_crash(sealed: str):
    with pytest.raises(CredentialLost):
        Vault([NEW]).open(sealed, upstream="acme")


def test_a_changed_seal_does_not_open():
    sealed = Vault([NEW]).seal("secret")
    changed = sealed[:30] + ("A" if sealed[30] != "A" else "B") + sealed[31:]
    with pytest.raises(CredentialLost):
        Vault([NEW]).open(changed, upstream="acme")


def test_resealing_is_for_former_keys_only():
    sealed = Vault([OLD]).seal("secret")
    resealed = Vault([NEW, OLD]).resealed(sealed, upstream="acme")
    assert resealed is not None
    assert Vault([NEW]).open(resealed, upstream="acme") == "secret"
    assert Vault([NEW, OLD]).resealed(resealed, upstream="acme") is None


def test_the_keys_of_credentials_are_not_those_of_anything_else(settings: Any):
    """A cursor's key, made from the same SECRET_KEY, opens no credential."""
    from context_protection.core.cursors import Sealer

    walk = Sealer([settings.SECRET_KEY]).seal("walk", 1)
    with pytest.raises(CredentialLost):
        vault().open(walk + "=" * (-len(walk) % 4), upstream="acme")


def test_credential_keys_go_before_the_secret_key_which_still_opens(settings: Any):
    settings.CREDENTIAL_KEYS, settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = [], NEW, [OLD]
    with_secret_key = vault().seal("one")
    with_fallback = Vault([OLD]).seal("two")
    assert Vault([NEW]).open(with_secret_key, upstream="acme") == "one"
    assert vault().open(with_fallback, upstream="acme") == "two"
    settings.CREDENTIAL_KEYS = [NEWEST]
    assert vault().open(with_secret_key, upstream="acme") == "one"
    assert vault().open(with_fallback, upstream="acme") == "two"
    assert Vault([NEWEST]).open(vault().seal("three"), upstream="acme") == "three"


@pytest.mark.parametrize(("secret", "shown"), [("abcdefgh1234", "1234"), ("abcdefg1234", ""), ("", "")])
def test_only_of_a_long_secret_the_last_four_are_shown(secret: str, shown: str):
    assert ending(secret) == shown


def test_a_key_that_could_be_guessed_is_refused_at_the_start():
    environment = os.environ | {"CREDENTIAL_KEYS": f"{NEW},short"}
    process = subprocess.run(
        [sys.executable, "-c", "import gateway.settings"], env=environment, capture_output=True, text=True
    )
    assert process.returncode == 1
    assert "CREDENTIAL_KEYS has a key of fewer than 32 characters" in process.stderr
    assert NEW not in process.stderr


# -- Rotation ---------------------------------------------------------------------------------------


@pytest.fixture
def ten(db: None, settings: Any) -> list[UpstreamApi]:
    """Sealed with the old key; then a new one goes before it."""
    store.clear_objects()  # what is sealed in the sample account is rotated as well
    settings.CREDENTIAL_KEYS = [OLD]
    apis = []
    for number in range(10):
        api = UpstreamApi(name=f"api{number}", base_url="https://api.example.com", authentication="bearer")
        api.set_secret(f"secret-of-{number}")
        api.save()
        apis.append(api)
    UpstreamApi.objects.create(name="open", base_url="https://open.example.com")
    settings.CREDENTIAL_KEYS = [NEW, OLD]
    return apis


def rotate(*arguments: str) -> str:
    said = StringIO()
    call_command("rotate_credentials", *arguments, stdout=said)
    return said.getvalue().strip()


def opened() -> list[str]:
    stored = UpstreamApi.objects.exclude(sealed_secret="")
    return [vault().open(api.sealed_secret, upstream=api.name) for api in stored]


def test_after_a_rotation_the_former_key_can_go(ten: list[UpstreamApi], settings: Any):
    with pytest.raises(CommandError, match="A former key is still needed"):
        rotate("--check")
    said = rotate()
    assert said == "0 sealed with the newest key, 10 sealed again, 0 cannot be opened."
    settings.CREDENTIAL_KEYS = [NEW]
    assert opened() == [f"secret-of-{number}" for number in range(10)]
    assert rotate("--check") == "10 sealed with the newest key, 0 sealed with a former key, 0 cannot be opened."


def test_check_changes_nothing(ten: list[UpstreamApi]):
    before = list(UpstreamApi.objects.values_list("sealed_secret", flat=True))
    with pytest.raises(CommandError):
        rotate("--check")
    assert list(UpstreamApi.objects.values_list("sealed_secret", flat=True)) == before


class Killed(BaseException):
    """As by a signal: no handler of ours sees it."""


@pytest.mark.parametrize("after", [0, 1, 4, 9])
def test_a_rotation_that_is_killed_halfway_is_finished_by_the_next(ten: list[UpstreamApi], settings: Any, after: int):
    written = 0

    def killer(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal written
        if sql.startswith("UPDATE"):
            if written == after:
                raise Killed
            written += 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(killer), pytest.raises(Killed):
        rotate()
    assert opened() == [f"secret-of-{number}" for number in range(10)], "calls go on halfway"
    assert rotation.count_by_key() == rotation.SealedValueCounts(newest=after, former=10 - after, lost=())
    assert rotate().startswith(f"{after} sealed with the newest key, {10 - after} sealed again")
    settings.CREDENTIAL_KEYS = [NEW]
    assert opened() == [f"secret-of-{number}" for number in range(10)]


def test_a_rotation_writes_a_row_at_a_time_and_no_plaintext(ten: list[UpstreamApi]):
    with CaptureQueriesContext(connection) as queries:
        rotate()
    updates = [query["sql"] for query in queries if query["sql"].startswith("UPDATE")]
    assert len(updates) == 10
    assert "secret-of-" not in str(queries.captured_queries)


def test_a_rotation_is_no_change_of_configuration(ten: list[UpstreamApi]):
    before = [(api.changed_at, api.history.count()) for api in UpstreamApi.objects.all()]
    rotate()
    assert [(api.changed_at, api.history.count()) for api in UpstreamApi.objects.all()] == before


def test_a_secret_that_ops_change_during_a_rotation_is_kept(ten: list[UpstreamApi]):
    """Between reading and writing of the first row, ops enter another secret for it."""
    entered = Vault([NEW]).seal("entered meanwhile")

    def meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE") and entered not in params and not done:
            done.append(True)
            UpstreamApi.objects.filter(pk=ten[0].pk).update(sealed_secret=entered)
        return execute(sql, params, many, context)

    done: list[bool] = []
    with connection.execute_wrapper(meanwhile):
        rotate()
    assert done
    assert opened()[0] == "entered meanwhile"


def test_a_credential_that_no_key_opens_is_named_and_the_others_are_done(ten: list[UpstreamApi], settings: Any):
    UpstreamApi.objects.filter(name="api3").update(sealed_secret=Vault([NEWEST]).seal("gone"))
    with pytest.raises(CommandError, match="No key opens the credential of api3"):
        rotate()
    assert rotation.count_by_key() == rotation.SealedValueCounts(newest=9, former=0, lost=("api3",))
