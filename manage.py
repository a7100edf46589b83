#!/usr/bin/env python
"""Sluice's command line: `manage.py help` lists the commands."""

import gc
import os
import sys


def main() -> None:
    gc.disable()  # until all is loaded (gateway/apps.py): to look for garbage meanwhile takes a quarter of the start
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import Error as DatabaseError
        from django.db.migrations.exceptions import MigrationSchemaMissing
    except ImportError:
        sys.exit("Django is not installed here. Run `make run`, or use .venv/bin/python manage.py …")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    except (DatabaseError, MigrationSchemaMissing) as error:
        if "--traceback" in sys.argv:
            raise
        words = str(error).partition("\n")[0].rstrip(".")
        sys.exit(f"The database cannot be used: {words}. Check DATABASE_URL; `manage.py migrate` sets a new one up.")


if __name__ == "__main__":
    main()
