"""What goes with a project that is removed: its index, and its name in the keys that could read it."""

import logging
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver

from gateway.access.models import ApiKey
from gateway.connectors.codebase.index.index_place import IndexFailed
from gateway.connectors.codebase.indexing import index_places
from gateway.connectors.codebase.models import Project

logger = logging.getLogger(__name__)


@receiver(post_delete, sender=Project)
def forget(instance: Project, **_: Any) -> None:
    """A key that kept the name would see the next project that is given it."""
    for key in ApiKey.objects.all():  # JSON of SQLite cannot be searched for a member
        if instance.name in key.projects:
            key.projects = [name for name in key.projects if name != instance.name]
            key.save(update_fields=["projects"])
    transaction.on_commit(partial(_delete_index, instance.pk))


def _delete_index(project_id: int) -> None:
    """The project is removed, whatever the index says: the worker deletes it later."""
    try:
        index_places.delete(project_id)
    except IndexFailed:
        logger.exception("an index cannot be deleted yet", extra={"project_id": project_id})
