"""What an authenticator app on a phone computes (RFC 6238), by no code of Sluice's."""

import base64
import hashlib
import hmac

STEP_SECONDS = 30


def code_at(secret: str, now: float) -> str:
    digest = hmac.digest(base64.b32decode(secret), (int(now) // STEP_SECONDS).to_bytes(8, "big"), hashlib.sha1)
    place = digest[-1] & 0xF
    number = int.from_bytes(digest[place : place + 4], "big") & 0x7FFF_FFFF
    return f"{number % 1_000_000:06}"
