"""Posts notifications to webhooks, over the same checked network as calls to upstreams: public addresses only, and
those that ALLOW_PRIVATE_UPSTREAMS names. Redirects are not followed."""

import asyncio
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync

from gateway.upstreams import addresses
from gateway.upstreams.auth.authentication import NO_AUTHENTICATION
from gateway.upstreams.connections import address_problem
from gateway.upstreams.errors import AddressRefused, UpstreamError
from gateway.upstreams.failures import UpstreamFailures
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.request import Request
from telemetry.alerts.channels import Post, Reply

LIMITS = CallLimits(connect_seconds=3.0, read_seconds=5.0, total_seconds=8.0, most_bytes=64 * 1024, attempts=1)

__all__ = ["address_problem", "post"]


def post(message: Post) -> Reply:
    """Blocks for at most LIMITS.total_seconds."""
    return async_to_sync(_post)(message)


async def _post(message: Post) -> Reply:
    from gateway.upstreams import transport  # aiohttp takes 8 MB

    host = urlsplit(message.url).hostname or "the receiver"
    failures = UpstreamFailures(host, NO_AUTHENTICATION, message.secrets)
    request = Request("POST", message.url, headers=message.headers, body=message.body, secrets=message.secrets)
    try:
        addresses.split(message.url)
        async with asyncio.timeout(LIMITS.total_seconds):
            response = await transport.send(request, allowed=addresses.allowed(), limits=LIMITS, failures=failures)
    except AddressRefused as error:
        return Reply(0, error.message, is_refused=True)
    except UpstreamError as error:
        return Reply(0, error.message, is_refused=error.reason == "upstream_address")
    except transport.Dropped:
        return Reply(0, f"{host} closed the connection without an answer.")
    except TimeoutError:
        return Reply(0, f"{host} did not answer within {LIMITS.total_seconds:g} seconds.")
    return Reply(response.status)
