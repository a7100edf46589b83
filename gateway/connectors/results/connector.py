"""Tools for stored results: they read the data behind a large response by its handle."""

from gateway.catalog.caller import RESULTS
from gateway.connectors.connector import Connector
from gateway.connectors.results.operations import operations

CONNECTOR = Connector(name=RESULTS, operations=operations)
