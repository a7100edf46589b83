"""manage.py load_sample_data: loads the sample account, or files: upstream envelopes and documents of any type."""

import mimetypes
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction

from gateway.connectors.hostaway import sample, store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.encodings import FileChanged
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import Document
from gateway.connectors.hostaway.transactions import TRANSACTIONS

MEDIA_TYPES = {".log": "text/x-log", ".md": "text/markdown", ".txt": "text/plain"}
LONGEST_NAME = Document._meta.get_field("id").max_length or 0
ENVELOPE_HEAD = 1000  # bytes at the start of an envelope that contain its "result" key


class Command(BaseCommand):
    help = (
        "Puts a sample account into the store: 12 listings, 500 bookings, 320 transactions, a 10,000-line log, "
        "a 50 KB manual. The data are the same every time, and replace all data in the store."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--bookings", type=int, default=500, help="how many bookings, up to a million (default 500)"
        )
        parser.add_argument(
            "--from",
            nargs="+",
            dest="files",
            metavar="FILE",
            help="load these instead: upstream envelopes (.json) and documents (texts in any encoding, or other files)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["bookings"] <= 1_000_000:
            raise CommandError(f"--bookings is {options['bookings']}; expected 0 to 1000000.")
        if options["files"]:
            loads = [self._read(Path(name)) for name in options["files"]]  # reads all files before anything is replaced
            with transaction.atomic():  # a bad file changes nothing
                store.clear()
                for load in loads:
                    load()
        else:
            store.clear()
            self._save("listings", LISTINGS, sample.listings())
            self._save("bookings", BOOKINGS, sample.reservations(options["bookings"]))
            self._save("transactions", TRANSACTIONS, sample.transactions())
            for document in sample.documents():
                store.save_document(document.name, document.title, document.media_type, document.content)
                self.stdout.write(f"{document.name}: {len(document.content):,} characters")

    def _read(self, path: Path) -> Callable[[], None]:
        """Returns a function that loads the file. Raises CommandError if the file cannot be read."""
        try:
            if path.exists() and not path.is_file():
                raise CommandError(f"{path} cannot be read: it is not a file.")
            envelope = self._envelope(path) if path.suffix == ".json" else None
            return envelope or self._document(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None

    def _document(self, path: Path) -> Callable[[], None]:
        name = path.name.encode("utf-8", "replace").decode()
        if len(name) > LONGEST_NAME:
            raise CommandError(f"{path} cannot be loaded: its name has more than {LONGEST_NAME} characters.")
        title = Path(name).stem.replace("_", " ")
        media_type = MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(name)[0]
        try:
            prepared = store.prepare_document(name, title, media_type, path, self._progress(name))
        except FileChanged:
            raise CommandError(f"{path} was changed while it was read; load it again.") from None

        def load() -> None:
            store.put_document(prepared)
            figures = prepared.file.figures
            what = f"{figures.chars:,} characters" if figures else f"{prepared.file.source.size:,} bytes, not a text"
            self.stdout.write(f"{name}: {what}")

        return load

    def _progress(self, name: str) -> store.Progress:
        def show(what: str, share: float) -> None:
            if sys.stdout.isatty():
                self.stdout.write(f"\r{name}: {min(share, 1):.0%} {what} ", ending="\r" if share >= 1 else "")

        return show

    def _envelope(self, path: Path) -> Callable[[], None] | None:
        """Returns a function that loads the objects of an upstream envelope; None if the file is not one."""
        with path.open("rb") as file:
            if b'"result"' not in file.read(ENVELOPE_HEAD):
                return None
        try:
            objects = orjson.loads(path.read_bytes())["result"]
            table, name = _kind_of(objects[0]) if objects else (BOOKINGS, "bookings")
        except (orjson.JSONDecodeError, KeyError, TypeError, IndexError):
            return None

        def load() -> None:
            try:
                self._save(name, table, objects)
            except (KeyError, TypeError, ValueError, OverflowError, AttributeError, DatabaseError) as error:
                raise CommandError(f"{path} has an object that cannot be stored: {error!r}.") from None

        return load

    def _save(self, name: str, table: FieldTable, objects: Iterable[Mapping[str, Any]]) -> None:
        stored = 0
        for stored in store.save(table, objects):
            if sys.stdout.isatty():
                self.stdout.write(f"\r{name}: {stored:,}", ending="")
        self.stdout.write(f"{chr(13) if sys.stdout.isatty() else ''}{name}: {stored:,}")


def _kind_of(example: Mapping[str, Any]) -> tuple[FieldTable, str]:
    """The type of the objects in an envelope, recognised by a field that only this type has. Raises KeyError for an
    unknown type."""
    for mark, table, name in (
        ("arrivalDate", BOOKINGS, "bookings"),
        ("personCapacity", LISTINGS, "listings"),
        ("amount", TRANSACTIONS, "transactions"),
    ):
        if mark in example:
            return table, name
    raise KeyError
