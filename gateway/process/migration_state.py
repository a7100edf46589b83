"""Whether the database has every migration of this version."""

from collections.abc import Iterator
from importlib.util import find_spec
from pkgutil import iter_modules

from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def is_migrated() -> bool:
    """Compares names: Django's own plan of migrations loads all of them, which takes 50 ms and 3 MB at every start."""
    return set(_migrations()) <= MigrationRecorder(connection).applied_migrations().keys()


def _migrations() -> Iterator[tuple[str, str]]:
    """The app label and the name of each migration, as in the table of applied migrations."""
    for app in apps.get_app_configs():
        package, _ = MigrationLoader.migrations_module(app.label)
        found = find_spec(package) if package else None
        if found is not None:
            for module in iter_modules(found.submodule_search_locations):
                if not module.ispkg and module.name[0] not in "_~":  # MigrationLoader skips these too
                    yield app.label, module.name
