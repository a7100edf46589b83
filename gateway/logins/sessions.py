"""Sessions expire after SESSION_COOKIE_AGE of inactivity. Each is prolonged at most once per STEP_SECONDS."""

import time

from django.contrib.sessions.backends.base import SessionBase

SEEN = "seen"  # when the session was last prolonged, in seconds since 1970
STEP_SECONDS = 5 * 60  # a session may expire this much early, so that not every page view writes to the store


def begin(session: SessionBase) -> None:
    session[SEEN] = int(time.time())


def prolong(session: SessionBase) -> None:
    """Restarts the inactivity timeout of the session's row and cookie."""
    if session.get(SEEN, 0) + STEP_SECONDS <= time.time():
        begin(session)
