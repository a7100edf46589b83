"""An invented Hostaway account, with the keys, types and sizes of a real one and nobody's data in it.

Plain data without a clock, a network or a database: the same rows on every machine and in every run. A row
shows what the upstream sends, including the keys that the gateway has to withhold.
"""

from gateway.connectors.hostaway.sample.documents import SampleDocument, documents
from gateway.connectors.hostaway.sample.listings import listings
from gateway.connectors.hostaway.sample.reservations import reservations
from gateway.connectors.hostaway.sample.transactions import transactions

__all__ = ["SampleDocument", "documents", "listings", "reservations", "transactions"]
