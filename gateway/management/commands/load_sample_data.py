"""manage.py load_sample_data: an invented account, or files of upstream's envelopes."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction

from gateway.connectors.hostaway import sample, store
from gateway.connectors.hostaway.store import BOOKINGS, LISTINGS, TRANSACTIONS, Mapped

MEDIA_TYPES = {".log": "text/x-log", ".md": "text/markdown", ".txt": "text/plain"}


class Command(BaseCommand):
    help = (
        "Puts an invented account into the store: 12 listings, 500 bookings, 320 transactions, a 10,000-line log, "
        "a 50 KB manual. The same every time; what stood in the store is replaced."
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
            help="load these instead: upstream's envelopes (.json), and texts (.log, .md, .txt)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["bookings"] <= 1_000_000:
            raise CommandError(f"--bookings is {options['bookings']}; expected 0 to 1000000.")
        if options["files"]:
            loads = [self._read(Path(name)) for name in options["files"]]  # all of them, before anything is replaced
            with transaction.atomic():  # a file that turns out bad leaves everything as it was
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

    def _read(self, path: Path) -> Any:
        """What loads the file; raises CommandError when it cannot be."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        if path.suffix in MEDIA_TYPES:
            return self._document(path, content)
        if path.suffix == ".json":
            return self._envelope(path, content)
        raise CommandError(f"{path} is not of a known kind; expected .json, {', '.join(MEDIA_TYPES)}.")

    def _document(self, path: Path, content: bytes) -> Any:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CommandError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from None
        if "\0" in text:
            raise CommandError(f"{path} has NUL characters; it is not a text.")

        def load() -> None:
            store.save_document(path.name, path.stem.replace("_", " "), MEDIA_TYPES[path.suffix], text)
            self.stdout.write(f"{path.name}: {len(text):,} characters")

        return load

    def _envelope(self, path: Path, content: bytes) -> Any:
        try:
            objects = orjson.loads(content)["result"]
            mapped, name = _kind_of(objects[0]) if objects else (BOOKINGS, "bookings")
        except (orjson.JSONDecodeError, KeyError, TypeError, IndexError):
            raise CommandError(
                f'{path} is not one of upstream\'s envelopes: expected {{"status":"success","result":[…]}} '
                "of listings, reservations or transactions."
            ) from None

        def load() -> None:
            try:
                self._save(name, mapped, objects)
            except (KeyError, TypeError, ValueError, OverflowError, AttributeError, DatabaseError) as error:
                raise CommandError(f"{path} has an object that cannot be stored: {error!r}.") from None

        return load

    def _save(self, name: str, mapped: Mapped, objects: Iterable[Mapping[str, Any]]) -> None:
        stored = 0
        for stored in store.save(mapped, objects):
            if sys.stdout.isatty():
                self.stdout.write(f"\r{name}: {stored:,}", ending="")
        self.stdout.write(f"{chr(13) if sys.stdout.isatty() else ''}{name}: {stored:,}")


def _kind_of(example: Mapping[str, Any]) -> tuple[Mapped, str]:
    """Which type of object an envelope holds, by what only that type has. Raises KeyError for none of them."""
    for mark, mapped, name in (
        ("arrivalDate", BOOKINGS, "bookings"),
        ("personCapacity", LISTINGS, "listings"),
        ("amount", TRANSACTIONS, "transactions"),
    ):
        if mark in example:
            return mapped, name
    raise KeyError
