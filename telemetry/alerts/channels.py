"""Sends a message over a channel: email through Django, webhooks and Slack through the application's network client.

Telemetry has no network client of its own. The gateway registers one that checks addresses, with `send_with`, and its
vault, with `seal_with`. Without them, only email channels work.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.core.mail import EmailMessage

from telemetry.alerts.messages import Message
from telemetry.models.alerts import Channel

SIGNATURE = "X-Sluice-Signature"  # t=<Unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">
DELIVERY = "X-Sluice-Delivery"  # the same for every attempt of one notification, so that receivers can drop repeats
FINAL_STATUSES = frozenset({400, 401, 403, 404, 405, 410, 413, 422})  # trying again does not help


@dataclass(frozen=True, slots=True)
class Post:
    """A request to a receiver. `secrets` are texts that no log may repeat."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """`status` 0: there was no answer, and `problem` says why. `is_refused`: the address is forbidden."""

    status: int
    problem: str = ""
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of one attempt. `is_final`: it failed, and will fail again."""

    ok: bool
    result: str
    is_final: bool = False


Sender = Callable[[Post], Reply]

NO_NETWORK = "This application has no network client for webhooks."

_sender: Sender | None = None
_address_problem: Callable[[str], str | None] | None = None
_seal: Callable[[str], str] | None = None
_open: Callable[[str, str], str] | None = None


def send_with(sender: Sender, address_problem: Callable[[str], str | None]) -> None:
    """Registers the application's network client. `sender` checks addresses, has a time limit, and returns a Reply for
    every Post. `address_problem` returns why an entered address cannot be a receiver, or None."""
    global _sender, _address_problem
    _sender, _address_problem = sender, address_problem


def seal_with(seal: Callable[[str], str], unseal: Callable[[str, str], str]) -> None:
    """Registers the application's vault: `seal(secret)` and `unseal(sealed, name of the channel)`."""
    global _seal, _open
    _seal, _open = seal, unseal


def address_problem(url: str) -> str | None:
    return NO_NETWORK if _address_problem is None else _address_problem(url)


def sealed(secret: str) -> str:
    if _seal is None:
        raise RuntimeError(
            "Call telemetry.alerts.channels.seal_with at start: without a vault, no secret can be stored."
        )
    return _seal(secret)


def secret_of(channel: Channel) -> str:
    """The decrypted secret; "" if the channel has none. Raises the vault's error if no key decrypts it."""
    if not channel.sealed_secret:
        return ""
    if _open is None:
        raise RuntimeError("Call telemetry.alerts.channels.seal_with at start: without a vault, no secret can be read.")
    return _open(channel.sealed_secret, channel.name)


def send(channel: Channel, message: Message, *, deduplicate: str) -> Sent:
    """Makes one attempt. Never raises: a failure is a result too."""
    try:
        if channel.kind == Channel.ChannelKind.EMAIL:
            return _send_mail(channel, message)
        return _post(_prepared(channel, message, deduplicate))
    except Exception as error:  # such as a mail server that is down, or a lost key; the notification's row shows it
        return Sent(False, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def _send_mail(channel: Channel, message: Message) -> Sent:
    if not channel.recipients:
        return Sent(False, "The channel has no addresses.", is_final=True)
    EmailMessage(subject=message.subject, body=message.text, to=channel.recipients).send()
    return Sent(True, f"sent to {', '.join(channel.recipients)}")


def _prepared(channel: Channel, message: Message, deduplicate: str) -> Post:
    secret = secret_of(channel)
    headers = {"Content-Type": "application/json", "User-Agent": "Sluice", DELIVERY: deduplicate}
    if channel.kind == Channel.ChannelKind.SLACK:
        return Post(secret, _json(message.slack), headers, secrets=(secret,))
    body = _json(message.document)
    return Post(channel.address, body, {**headers, SIGNATURE: signature(body, secret, int(time.time()))})


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def signature(body: bytes, secret: str, at: int) -> str:
    """The value of SIGNATURE. The time is signed too, so that a receiver can refuse a replayed message."""
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def _post(post: Post) -> Sent:
    if _sender is None:
        return Sent(False, NO_NETWORK, is_final=True)
    reply = _sender(post)
    if reply.status == 0:
        return Sent(False, reply.problem, is_final=reply.is_refused)
    if 200 <= reply.status < 300:
        return Sent(True, f"answered {reply.status}")
    return Sent(False, f"answered {reply.status}", is_final=reply.status in FINAL_STATUSES)
