"""Removing a project also deletes its index, and its name from the API keys that could read it."""

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
    """A key that kept the name could read a later project of the same name."""
    for key in ApiKey.objects.all():  # Django cannot search a JSON list for a member in SQLite
        if instance.name in key.projects:
            key.projects = [name for name in key.projects if name != instance.name]
            key.save(update_fields=["projects"])
    transaction.on_commit(partial(_delete_index, instance.pk))


def _delete_index(project_id: int) -> None:
    """If the index cannot be deleted now, the project is removed all the same, and the worker deletes the index
    later."""
    try:
        index_places.delete(project_id)
    except IndexFailed:
        logger.exception("an index cannot be deleted yet", extra={"project_id": project_id})
