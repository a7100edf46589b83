"""Runs the invented clients against a server, each with a key of its own."""

import asyncio
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import httpx2

from gateway.access.models import ApiKey
from gateway.simulation.allowance import Allowance, Finished
from gateway.simulation.clients import SimulatedConnection
from gateway.simulation.polling import until
from gateway.simulation.scenarios import ROLES, ClientRole

MARK = "simulated: "  # the prefix of the keys' names, which telemetry shows as the callers
KEY_SECONDS = 10.0  # the longest wait until the server accepts a new key


class NoServer(Exception):
    """The message is a sentence to show to the user."""


@contextmanager
def keys(roles: Sequence[ClientRole] = ROLES) -> Iterator[Mapping[str, str]]:
    """Name of a client → its key. The keys replace those of an earlier run, and are revoked afterwards."""
    names = {role.client.name: f"{MARK}{role.client.name}" for role in roles}
    ApiKey.objects.filter(name__startswith=MARK).delete()
    issued = {client: ApiKey.objects.issue(name) for client, name in names.items()}
    try:
        yield {client: secret for client, (_, secret) in issued.items()}
    finally:
        for key, _ in issued.values():
            key.revoke()


def run(
    base: str, secrets: Mapping[str, str], allowance: Allowance, seed: int, roles: Sequence[ClientRole] = ROLES
) -> None:
    """Makes traffic until the allowance is used up. Raises NoServer."""
    _wait_for_keys(base, next(iter(secrets.values())))
    allowance.started = time.monotonic()
    asyncio.run(_run(base, secrets, allowance, seed, roles))


async def _run(
    base: str, secrets: Mapping[str, str], allowance: Allowance, seed: int, roles: Sequence[ClientRole]
) -> None:
    async def act(role: ClientRole) -> None:
        chance = random.Random(f"{seed} {role.client.name}")  # noqa: S311 (a choice of calls is no secret)
        async with role.client.connect(role.client, base, secrets[role.client.name]) as send:
            try:
                await role.act(SimulatedConnection(send, allowance, chance, len(roles)))
            except Finished:
                return

    async with asyncio.TaskGroup() as tasks:
        for role in roles:
            tasks.create_task(act(role))


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def _wait_for_keys(base: str, secret: str) -> None:
    """Returns when the server accepts a new key. Processes that share a database see it within seconds."""
    headers = {"Authorization": f"Bearer {secret}", "Accept": "application/json, text/event-stream"}
    with httpx2.Client(base_url=base, headers=headers, timeout=KEY_SECONDS, trust_env=False) as http:
        if not until(lambda: _status(http, base) == 200, KEY_SECONDS):
            raise NoServer(
                f"The server at {base} does not accept a key that was just created (status {_status(http, base)}). "
                "This command needs the server's own environment: DATA_DIR, DATABASE_URL and REDIS_URL."
            )


def _status(http: httpx2.Client, base: str) -> int:
    try:
        return http.post("/mcp", json=PING).status_code
    except httpx2.TransportError as error:
        raise NoServer(
            f"Nothing answers at {base} ({type(error).__name__}). Start it with `make run`, or name another address "
            "with --url."
        ) from None
