"""What a store of walks forgets."""

from context_protection.models import StoredWalk
from context_protection.stores.redis_snapshots import PREFIX, RedisSnapshots
from context_protection.stores.snapshots import snapshots


def lose(key: str) -> None:
    """As what has expired is lost, in whichever store it is."""
    StoredWalk.objects.filter(id=key).delete()
    if isinstance(snapshots.store, RedisSnapshots):
        snapshots.store.redis.delete(f"{PREFIX}{key}")
