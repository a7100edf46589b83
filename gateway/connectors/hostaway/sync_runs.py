"""The run over one resource: each page is stored together with the position after it, so that a kill loses nothing."""

import hashlib
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from context_protection.configuration.revisions import contents_changed
from gateway.connectors.hostaway import sample, store, sync_states, sync_writing
from gateway.connectors.hostaway.client import Client, Page, garbled, http_status
from gateway.connectors.hostaway.leases import Held, LeaseLost
from gateway.connectors.hostaway.models import SyncState
from gateway.connectors.hostaway.sync_states import ATTEMPTS, MODE, OVERLAP, Copied, Interrupted
from gateway.upstreams import nesting
from gateway.upstreams.errors import UpstreamError, UpstreamGarbled, UpstreamTooSlow, UpstreamUnavailable

MOST_LOOKED_FOR = 200  # rows that one run checks for being gone
NO_ENTRY = (401, 403)
NO_SUCH_THING = (403, 404)
T = TypeVar("T")
logger = logging.getLogger(__name__)


class Stop(Exception):
    """The sync must stop, as no other resource can be read now either. `word` says why."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class PageKillsWorkers(Exception):
    """A page was begun as often as allowed, and never finished."""


class Run:
    """`wait` runs a coroutine of the client and returns its result. `check_time` raises Stop when the time is over.
    `progress` is called with the resource, the number of rows read, and their total."""

    def __init__(
        self,
        copied: Copied,
        *,
        client: Client,
        wait: Callable[[Coroutine[Any, Any, Any]], Any],
        lease: Held,
        check_time: Callable[[], None],
        progress: Callable[[str, int, int | None], None],
    ) -> None:
        self.copied, self.client, self.wait, self.lease = copied, client, wait, lease
        self.check_time, self.progress = check_time, progress
        self.state = SyncState.objects.get(resource=copied.name)

    def go(self) -> None:
        """Reads everything if that is due, then what has changed; then looks for rows that are gone. Raises Stop,
        LeaseLost and Interrupted. Failures of this resource alone are recorded in its state."""
        if self.state.retry_at and self.state.retry_at > timezone.now():
            return
        try:
            self._read()
        except (Stop, LeaseLost, Interrupted):
            raise
        except Exception as error:
            self._note_failure(error)

    def _read(self) -> None:
        looked_for_changes = False
        while mode := sync_states.due(self.copied, self.state, timezone.now()):
            if mode is MODE.CHANGES and looked_for_changes:
                break
            looked_for_changes |= mode is MODE.CHANGES
            self._read_all(mode)
        self._look_for_gone()

    def _read_all(self, mode: SyncState.Mode) -> None:
        if not self.state.mode:
            self._save(**sync_states.begun(mode, timezone.now()))
        is_last = False
        while not is_last:
            self.check_time()
            is_last = self._read_page(mode)
        logger.info("hostaway read", extra={"resource": self.copied.name, "mode": mode.value})

    def _read_page(self, mode: SyncState.Mode) -> bool:
        """Returns whether it was the last page."""
        if self.state.attempts >= ATTEMPTS:  # the last attempt was killed before it could record a failure
            raise PageKillsWorkers
        self._save(attempts=self.state.attempts + 1)
        since = self._since() if mode is MODE.CHANGES else None
        page: Page = self.wait(self.client.page(self.copied.resource, self.state.position, since))
        self._check_progress(page)
        with transaction.atomic():
            self.lease.renew()
            self._adopt()
            written = sync_writing.save_newer(self.copied.mapped, page.rows)
            self._leave_out(page)
            self._save(
                position=page.next or 0,
                rows=self.state.rows + page.read,
                refused_rows=self.state.refused_rows + written.refused,
                attempts=0,
                error="",
                retry_at=None,
            )
            rows = self.state.rows
            if page.next is None:
                self._save(**sync_states.ended(self.copied, self.state, page.total))
                contents_changed()  # answers show the new `as_of`
        self.progress(self.copied.name, rows, page.total)
        return page.next is None

    def _leave_out(self, page: Page) -> None:
        """An older copy of a record that cannot be read stays."""
        for identifier in page.too_deep:
            named = {"resource": self.copied.name, "id": identifier, "reason": nesting.TOO_DEEP}
            logger.warning("hostaway record left out", extra=named)
        sync_writing.note_seen(self.copied.mapped, page.too_deep)
        self._save(left_out=sync_states.left_out(self.state.left_out, page))

    def _since(self) -> str | None:
        return (self.state.as_of - OVERLAP).date().isoformat() if self.state.as_of else None

    def _check_progress(self, page: Page) -> None:
        """Rows that change meanwhile move to the front and come again, but never that many of them."""
        if page.total is not None and self.state.rows > 2 * page.total + 1000:
            raise garbled("more rows than it says it has")

    def _adopt(self) -> None:
        """Removes the rows of another account or of the sample before the first row of this account is stored. Both
        happen in one transaction, so that nobody sees the two together, or an empty store."""
        if not self.state.is_adopted:
            store.clear_objects()
            store.remove_documents({
                each.name: hashlib.sha256(each.content.encode()).hexdigest() for each in sample.documents()
            })  # fmt: skip
            SyncState.objects.filter(account=self.state.account).update(is_adopted=True)
            self.state.is_adopted = True

    # -- Rows that are gone ----------------------------------------------------------------------------

    def _look_for_gone(self) -> None:
        if self.state.gone_before is None:
            return
        missed = sync_writing.not_seen_since(self.copied.mapped, self.state.gone_before, OVERLAP, MOST_LOOKED_FOR)
        for identifier in missed:
            self.check_time()
            self._remove_if_gone(identifier)
        if len(missed) < MOST_LOOKED_FOR:
            self._save(gone_before=None)

    def _remove_if_gone(self, identifier: int) -> None:
        resource = self.copied.resource
        is_too_deep = False
        try:
            row = self.wait(self.client.one(resource, identifier)) if resource.one_by_one else None
        except UpstreamGarbled as error:
            if error.reason != nesting.TOO_DEEP:
                raise
            row, is_too_deep = None, True
        with transaction.atomic():
            self.lease.renew()
            if is_too_deep:
                self._leave_out(Page((), None, None, [identifier]))
            elif row is None:
                sync_writing.remove(self.copied.mapped, [identifier])
            else:
                sync_writing.save_newer(self.copied.mapped, [row])

    # -- Failures --------------------------------------------------------------------------------------

    def _note_failure(self, error: Exception) -> None:
        """Counts the attempt, unless the failure is upstream's and not this page's. Raises Stop if other resources
        would fail as well."""
        word = error.reason if isinstance(error, UpstreamError) else type(error).__name__
        # No traceback, as messages of the database repeat the values that could not be stored.
        logger.warning("hostaway not read", extra={"resource": self.copied.name, "error": word})
        noted = {"error": word, "error_at": timezone.now()}
        status = http_status(error)
        if self.copied.is_optional and status in NO_SUCH_THING:
            self._pause(sync_states.PAUSE_WHERE_NOT_AVAILABLE, {**noted, "error": sync_states.NOT_AVAILABLE})
        elif isinstance(error, (UpstreamUnavailable, UpstreamTooSlow)) or status in NO_ENTRY:
            self._save(attempts=max(self.state.attempts - 1, 0), **noted)
            raise Stop(word)
        elif self.state.attempts >= ATTEMPTS:
            self._pause(sync_states.PAUSE_AFTER_FAILURE, noted)
        else:
            self._save(**noted)

    def _pause(self, pause: timedelta, noted: dict[str, Any]) -> None:
        self._save(**sync_states.begun(MODE.NONE, None), retry_at=timezone.now() + pause, **noted)

    def _save(self, **values: Any) -> None:
        sync_states.save(self.state, **values)
