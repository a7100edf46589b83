"""The live account's client: one per process, so that all calls share its token and its rate limits."""

from functools import lru_cache

from gateway.connectors.hostaway.client import HostawayClient
from gateway.connectors.hostaway.live import Account
from gateway.upstreams.auth.client_credentials import ClientCredentials
from gateway.upstreams.client import Upstream
from gateway.upstreams.connections import AuthKind, ClientPlace, Connection, origin
from gateway.upstreams.limits import CallLimits, Rate
from gateway.upstreams.registry import upstreams

NAME = "hostaway"
# Upstream allows this many requests in 10 seconds. It measures when requests arrive, not when they are sent: hence the
# extra half second.
RATES = (Rate("ip", 15, 10.5), Rate("account", 20, 10.5))
WAIT_SECONDS = 45.0  # so long because only background tasks call upstream, and no client waits for them
USABLE_AFTER = 1.0  # seconds after a token is issued


@lru_cache(maxsize=1)
def client(account: Account) -> HostawayClient:
    connection = Connection(
        name=NAME,
        base_url=account.base_url,
        kind=AuthKind.CLIENT_CREDENTIALS,
        client_id=account.id,
        token_url=f"{account.base_url}/accessTokens",
        scope="general",
        client_place=ClientPlace.BODY,
        usable_after=USABLE_AFTER,
    )
    upstream = Upstream(
        NAME,
        authentication=ClientCredentials(connection, account.secret),
        trusted=frozenset({origin(account.base_url)}),
        limits=CallLimits(wait_seconds=WAIT_SECONDS),
        rates=RATES,
    )
    return HostawayClient(account.base_url, upstreams.register(upstream))
