"""The live account's client: one per process, so that all calls share its token and its rate limits."""

from functools import lru_cache

from gateway.connectors.hostaway.client import Client
from gateway.connectors.hostaway.live import Account
from gateway.upstreams.client_credentials import ClientCredentials
from gateway.upstreams.connections import ClientPlace, Connection, Kind, origin
from gateway.upstreams.rates import Rate
from gateway.upstreams.registry import upstreams
from gateway.upstreams.upstream import Upstream

NAME = "hostaway"
# Upstream allows this many in 10 seconds by their arrival, which differs a little from when they are sent.
RATES = (Rate("ip", 15, 10.5), Rate("account", 20, 10.5))
USABLE_AFTER = 1.0  # seconds from a token's issue


@lru_cache(maxsize=1)
def client(account: Account) -> Client:
    connection = Connection(
        name=NAME,
        base_url=account.base_url,
        kind=Kind.CLIENT_CREDENTIALS,
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
        rates=RATES,
    )
    return Client(account.base_url, upstreams.register(upstream))
