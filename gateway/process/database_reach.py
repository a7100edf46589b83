"""Whether the database answers, for whoever is about to wait for it. Looked at by gateway/process/readiness.py."""

import threading


class Reach:
    """`is_away` only where somebody looks: where calls are answered, and not in a command of manage.py."""

    def __init__(self) -> None:
        self.is_looked_at = False
        self.is_away = False
        self.wanted = threading.Event()

    def suspect(self) -> None:
        """Somebody has waited for long: the next look is now."""
        self.wanted.set()


database = Reach()
