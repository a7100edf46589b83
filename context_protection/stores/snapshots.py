"""The store of snapshots: Redis, or a table of the database. All processes share its snapshots."""

from django.conf import settings

from context_protection.core.cursors import Sealer, Snapshots, SnapshotStore
from context_protection.stores.table_snapshots import TableSnapshots
from context_protection.stores.write_behind import WriteBehindSnapshots

table = TableSnapshots()
write_behind = WriteBehindSnapshots(table)


def _configured_store() -> SnapshotStore:
    if not getattr(settings, "REDIS_URL", ""):
        return write_behind
    from context_protection.stores.redis_snapshots import RedisSnapshots  # the driver takes 7 MB

    return RedisSnapshots(settings.REDIS_URL, table)


snapshots = Snapshots(store=_configured_store(), sealer=Sealer([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]))
