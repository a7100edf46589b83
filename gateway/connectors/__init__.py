"""Discovery of connectors, the sources of operations. A folder with a `connector.py` is a connector. One with an
`apps.py` is also a Django application, and one with a `urls.py` also serves the addresses in it. No other registration
is needed."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.connectors.connector import Connector


def with_module(name: str) -> list[str]:
    """The packages below this one that have a module of this name, as dotted paths: gateway.connectors.hostaway."""
    folder = str(Path(__file__).parent)
    packages = [f"{__name__}.{each.name}" for each in iter_modules([folder]) if each.ispkg]
    return [package for package in packages if find_spec(f"{package}.{name}") is not None]


def connectors() -> "list[Connector]":
    """Every connector, by folder name. Django must be set up."""
    return [import_module(f"{package}.connector").CONNECTOR for package in with_module("connector")]
