"""Whether the database is reachable, for code that is about to wait for it. gateway/process/readiness.py checks it."""

import threading


class Reach:
    """`is_away` is only ever true in processes with the readiness thread: those that answer calls, not commands of
    manage.py."""

    def __init__(self) -> None:
        self.is_looked_at = False
        self.is_away = False
        self.wanted = threading.Event()

    def suspect(self) -> None:
        """Requests a check now, because something has waited for long."""
        self.wanted.set()


database = Reach()
