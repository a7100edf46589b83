"""Offers questions about source trees, and commit messages for their changes."""

from collections.abc import Sequence

from django.conf import settings

from gateway.catalog.operation import Operation
from gateway.connectors.connector import Connector
from gateway.threads.bridge import run_sync

NAME = "codebase"
SYNC_SECONDS = float(settings.PROJECT_SYNC_SECONDS)


def operations() -> Sequence[Operation]:
    from gateway.connectors.codebase.operations import operations

    return operations()


async def start() -> None:
    """Starts the processes and imports the model's client, so that the first call need not wait for either. What is not
    used is not imported, which saves 2 MB."""
    from gateway.connectors.codebase.known_projects import all_projects

    if await run_sync(all_projects):
        from gateway.connectors.codebase.processes import processes

        processes.start()
    if settings.CODEBASE_MODEL != "off":
        from gateway.connectors.codebase.model.settings import load_model

        await load_model()


async def stop() -> None:
    from gateway.connectors.codebase.processes import processes

    await run_sync(processes.stop)


CONNECTOR = Connector(
    name=NAME,
    switchable=True,
    source=operations,
    schedule={
        "synchronize-indexes": {
            "task": "codebase.synchronize",
            "schedule": SYNC_SECONDS,
            "options": {"expires": SYNC_SECONDS},  # a worker that is behind runs it once, not once for each missed time
        }
    },
    start=start,
    stop=stop,
)
