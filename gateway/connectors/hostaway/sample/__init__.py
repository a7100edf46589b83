"""An invented Hostaway account with the keys, types and sizes of a real one, but without anybody's data.

It is generated without a clock, a network or a database, so that its rows are the same on every machine and in every
run. A row has the form that upstream sends, including the keys that the gateway has to withhold.
"""

from gateway.connectors.hostaway.sample.documents import SampleDocument, documents
from gateway.connectors.hostaway.sample.listings import listings
from gateway.connectors.hostaway.sample.reservations import reservations
from gateway.connectors.hostaway.sample.transactions import transactions

__all__ = ["SampleDocument", "documents", "listings", "reservations", "transactions"]
