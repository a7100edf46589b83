"""Codes of authenticator apps, against the RFC's own and around the present."""

import base64

import pytest

from gateway.logins import totp
from tests import authenticator

# RFC 6238, appendix B, the SHA-1 rows; six digits are the last six of eight.
SECRET = base64.b32encode(b"12345678901234567890").decode()
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("at", "code"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")]
)
def test_codes_are_those_of_the_rfc(at: int, code: str):
    assert authenticator.code_at(SECRET, at) == code
    assert totp.step_of(SECRET, code, at) == at // 30


def test_a_clock_may_be_half_a_minute_off_and_no_more():
    def accepted(seconds: int) -> bool:
        return totp.step_of(SECRET, authenticator.code_at(SECRET, NOW + seconds), NOW) is not None

    assert [accepted(seconds) for seconds in (-60, -30, 0, 30, 60)] == [False, True, True, True, False]


@pytest.mark.parametrize("code", ["", "12345", "1234567", "abcdef", "１２３４５６", "12 345"])
def test_what_is_no_code_is_of_no_step(code: str):
    assert totp.step_of(SECRET, code, NOW) is None


def test_secrets_are_new_and_the_address_names_the_account():
    secret = totp.new_secret()
    assert secret != totp.new_secret()
    assert len(base64.b32decode(secret)) == 20
    address = totp.address(secret, "clerk@example.com")
    assert address.startswith("otpauth://totp/Sluice:clerk%40example.com?")
    assert f"secret={secret}" in address
