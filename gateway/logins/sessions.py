"""Sessions end when nobody has used them for SESSION_COOKIE_AGE. Using one writes to its store now and then only."""

import time

from django.contrib.sessions.backends.base import SessionBase

SEEN = "seen"  # when the session was last prolonged, in seconds since 1970
STEP_SECONDS = 5 * 60  # by which a session may end early, so that not every page writes


def begin(session: SessionBase) -> None:
    session[SEEN] = int(time.time())


def prolong(session: SessionBase) -> None:
    """Its store and its cookie count from now again."""
    if session.get(SEEN, 0) + STEP_SECONDS <= time.time():
        begin(session)
