"""The place of each project's index: a file of SQLite in DATA_DIR, or a schema of Sluice's own Postgres, as
CODEBASE_INDEX says."""

from pathlib import Path

from django.conf import settings
from django.db import connection

from gateway.connectors.codebase.index.index_place import IndexPlace, PostgresPlace, SqlitePlace
from gateway.connectors.codebase.models import Project
from gateway.data_directory import BESIDE_DATABASE, private_database, private_directory

FOLDER = "project_indexes"
SCHEMA = "sluice_index_{}"
_NAMES = ("[0-9]+$", "^sluice_index_[0-9]{1,18}$")


def place_of(project_id: int) -> IndexPlace:
    """The place of a project's index, which need not exist yet."""
    if settings.CODEBASE_INDEX == "postgres":
        return _schema_place(project_id)
    return _file_place(project_id)


def created(project_id: int) -> IndexPlace:
    """The place of a project's index. Creates an empty one, which only Sluice may access, if there is none."""
    place = place_of(project_id)
    if isinstance(place, SqlitePlace):
        if not place.file.exists():
            private_directory(place.file.parent)
            private_database(place.file)
    elif isinstance(place, PostgresPlace):
        place.create()
    return place


def delete(project_id: int) -> None:
    """Deletes the index in both places where it may be. It may be deleted while it is being written: the writer then
    writes to an unlinked file, which disappears when it is closed, or finds that its schema no longer exists."""
    file = _file_place(project_id).file
    for each in (file, file.with_suffix(".lock"), *(file.with_name(file.name + ending) for ending in BESIDE_DATABASE)):
        each.unlink(missing_ok=True)
    if connection.vendor == "postgresql":
        _schema_place(project_id).delete()


def delete_left_behind() -> None:
    """Deletes the schemas of removed projects that could not be deleted together with the project."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT substring(nspname FROM %s)::bigint FROM pg_namespace WHERE nspname ~ %s", _NAMES)
        found = {project_id for (project_id,) in cursor.fetchall()}
    for project_id in found - set(Project.objects.values_list("pk", flat=True)) if found else ():
        _schema_place(project_id).delete()


def _file_place(project_id: int) -> SqlitePlace:
    return SqlitePlace(Path(settings.DATA_DIR) / FOLDER / f"{project_id}.sqlite3")


def _schema_place(project_id: int) -> PostgresPlace:
    return PostgresPlace(_conninfo(), SCHEMA.format(project_id))


def _conninfo() -> str:
    """The connection string of Django's database, with those options that libpq knows too."""
    from psycopg.conninfo import make_conninfo
    from psycopg.pq import Conninfo

    given = connection.settings_dict
    known = {each.keyword.decode() for each in Conninfo.get_defaults()}
    options = {name: value for name, value in given["OPTIONS"].items() if name in known}
    place = {name: given[name.upper()] or None for name in ("host", "port", "user", "password")}
    return make_conninfo(dbname=given["NAME"], **{**options, **place})
