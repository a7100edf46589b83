"""Discovery of connectors, the sources of operations. A folder with a `connector.py` is a connector. One with an
`apps.py` is also a Django application, and one with a `urls.py` also serves those URLs. No other registration is
needed."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.connectors.connector import Connector


def with_module(name: str) -> list[str]:
    """The dotted paths of the subpackages that have a module of this name, such as gateway.connectors.hostaway."""
    found = Path(__file__).parent.glob(f"*/{name}.py")
    return sorted(f"{__name__}.{module.parent.name}" for module in found)


def connectors() -> "list[Connector]":
    """All connectors, sorted by folder name. Django must be set up."""
    return [import_module(f"{package}.connector").CONNECTOR for package in with_module("connector")]
