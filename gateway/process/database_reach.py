"""Whether the database is reachable, for code that is about to wait for it. gateway/process/readiness.py checks it."""

import threading

ANSWER_SECONDS = 1.0  # how long a store may take to answer a check


class Reach:
    """`is_away` can be true only in processes with the readiness thread: those that answer calls, not manage.py
    commands."""

    def __init__(self) -> None:
        self.is_watched = False
        self.is_away = False
        self.wanted = threading.Event()

    def suspect(self) -> None:
        """Requests an immediate check, after a long wait for the database."""
        self.wanted.set()


database = Reach()
