"""Stored results: what a large answer was made of, by its handle."""

from gateway.connectors.connector import Connector
from gateway.connectors.results.operations import operations

CONNECTOR = Connector(name="results", operations=operations)
