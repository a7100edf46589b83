"""Syncs one resource: each page is stored together with the position after it, so that a killed run loses nothing."""

import hashlib
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from context_protection.configuration.revisions import contents_changed
from gateway.connectors.hostaway import sample, store, sync_states, sync_writes
from gateway.connectors.hostaway.client import HostawayClient, ResourcePage, garbled, http_status
from gateway.connectors.hostaway.leases import Held, LeaseLost
from gateway.connectors.hostaway.models import SyncState
from gateway.connectors.hostaway.sync_states import ATTEMPTS, MODE, OVERLAP, Copied, Interrupted
from gateway.upstreams import json_depth
from gateway.upstreams.errors import UpstreamError, UpstreamGarbled, UpstreamTooSlow, UpstreamUnavailable

MAX_LOOKED_FOR = 200  # rows per run that are checked for deletion
UNAUTHORIZED = (401, 403)  # HTTP statuses
NOT_PROVIDED = (403, 404)
T = TypeVar("T")
logger = logging.getLogger(__name__)


class Stop(Exception):
    """Stops the sync: the time is up, or the other resources cannot be read now either. `word`: the reason."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class PageKillsWorkers(Exception):
    """A page was attempted ATTEMPTS times, and never finished."""


class SyncRun:
    """`wait` runs a coroutine of the client and returns its result. `check_time` raises Stop when the time is up.
    `progress` is called with the resource, the number of rows read, and the total."""

    def __init__(
        self,
        copied: Copied,
        *,
        client: HostawayClient,
        wait: Callable[[Coroutine[Any, Any, Any]], Any],
        lease: Held,
        check_time: Callable[[], None],
        progress: Callable[[str, int, int | None], None],
    ) -> None:
        self.copied, self.client, self.wait, self.lease = copied, client, wait, lease
        self.check_time, self.progress = check_time, progress
        self.state = SyncState.objects.get(resource=copied.name)

    def go(self) -> None:
        """Reads everything if that is due, then the changes, then removes deleted rows. Does nothing during a pause
        after failures. Raises Stop, LeaseLost and Interrupted. Failures of only this resource are recorded in its
        state."""
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
        if self.state.attempts >= ATTEMPTS:  # the last attempt was killed before it recorded a failure
            raise PageKillsWorkers
        self._save(attempts=self.state.attempts + 1)
        since = self._since() if mode is MODE.CHANGES else None
        page: ResourcePage = self.wait(self.client.page(self.copied.resource, self.state.position, since))
        self._check_progress(page)
        with transaction.atomic():
            self.lease.renew()
            self._adopt()
            written = sync_writes.save_newer(self.copied.table, page.rows)
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
                contents_changed()  # responses show the new `as_of`
        self.progress(self.copied.name, rows, page.total)
        return page.next is None

    def _leave_out(self, page: ResourcePage) -> None:
        """Records that cannot be read keep their older copy."""
        for identifier in page.too_deep:
            named = {"resource": self.copied.name, "id": identifier, "reason": json_depth.TOO_DEEP}
            logger.warning("hostaway record left out", extra=named)
        sync_writes.note_seen(self.copied.table, page.too_deep)
        self._save(left_out=sync_states.left_out(self.state.left_out, page))

    def _since(self) -> str | None:
        return (self.state.as_of - OVERLAP).date().isoformat() if self.state.as_of else None

    def _check_progress(self, page: ResourcePage) -> None:
        """Raises UpstreamGarbled if paging seems endless. Rows that change during the run are returned again, but there
        are never this many of them."""
        if page.total is not None and self.state.rows > 2 * page.total + 1000:
            raise garbled("far more rows than its own total")

    def _adopt(self) -> None:
        """Removes the rows of another account or of the sample, in the transaction that stores the first rows of this
        account. Readers thus see neither a mixed nor an empty store."""
        if not self.state.is_adopted:
            store.clear_objects()
            store.remove_documents({
                each.name: hashlib.sha256(each.content.encode()).hexdigest() for each in sample.documents()
            })  # fmt: skip
            SyncState.objects.filter(account=self.state.account).update(is_adopted=True)
            self.state.is_adopted = True

    # -- Deleted rows ----------------------------------------------------------------------------------

    def _look_for_gone(self) -> None:
        if self.state.gone_before is None:
            return
        unseen = sync_writes.not_seen_since(self.copied.table, self.state.gone_before, OVERLAP, MAX_LOOKED_FOR)
        for identifier in unseen:
            self.check_time()
            self._remove_if_gone(identifier)
        if len(unseen) < MAX_LOOKED_FOR:
            self._save(gone_before=None)

    def _remove_if_gone(self, identifier: int) -> None:
        resource = self.copied.resource
        is_too_deep = False
        try:
            row = self.wait(self.client.one(resource, identifier)) if resource.one_by_one else None
        except UpstreamGarbled as error:
            if error.reason != json_depth.TOO_DEEP:
                raise
            row, is_too_deep = None, True
        with transaction.atomic():
            self.lease.renew()
            if is_too_deep:
                self._leave_out(ResourcePage((), None, None, [identifier]))
            elif row is None:
                sync_writes.remove(self.copied.table, [identifier])
            else:
                sync_writes.save_newer(self.copied.table, [row])

    # -- Failures --------------------------------------------------------------------------------------

    def _note_failure(self, error: Exception) -> None:
        """Records the failure. If other resources would fail as well, the attempt does not count, and Stop is
        raised."""
        word = error.reason if isinstance(error, UpstreamError) else type(error).__name__
        # No traceback, as database errors repeat the values that could not be stored.
        logger.warning("hostaway not read", extra={"resource": self.copied.name, "error": word})
        noted = {"error": word, "error_at": timezone.now()}
        status = http_status(error)
        if self.copied.is_optional and status in NOT_PROVIDED:
            self._pause(sync_states.PAUSE_WHERE_NOT_AVAILABLE, {**noted, "error": sync_states.NOT_AVAILABLE})
        elif isinstance(error, (UpstreamUnavailable, UpstreamTooSlow)) or status in UNAUTHORIZED:
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
