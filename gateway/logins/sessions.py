"""Sessions end after SESSION_COOKIE_AGE without use. Using a session writes to the store only once in a while."""

import time

from django.contrib.sessions.backends.base import SessionBase

SEEN = "seen"  # when the session was last prolonged, in seconds since 1970
STEP_SECONDS = 5 * 60  # a session may end this much early, so that not every page view writes


def begin(session: SessionBase) -> None:
    session[SEEN] = int(time.time())


def prolong(session: SessionBase) -> None:
    """Restarts the inactivity time of the session's row and cookie."""
    if session.get(SEEN, 0) + STEP_SECONDS <= time.time():
        begin(session)
