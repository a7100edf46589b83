"""Downloads a document from a URL."""

from django.conf import settings

from gateway.upstreams.addresses import check_url
from gateway.upstreams.exchanges import Request
from gateway.upstreams.upstream import Upstream
from gateway.upstreams.wire import Limits

ACCEPT = "application/json, application/yaml, text/yaml, */*;q=0.5"


async def fetched(url: str) -> bytes:
    """The document's bytes. Raises UpstreamError, also for an address that Sluice does not connect to."""
    check_url(url)
    upstream = Upstream("the document", limits=Limits(most_bytes=settings.LARGEST_DOCUMENT))
    response = await upstream.fetch(Request("GET", url, {"accept": ACCEPT}))
    return response.body
