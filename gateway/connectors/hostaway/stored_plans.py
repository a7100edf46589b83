"""Chunk plans of long texts: made once per text and limits, in the background, and read by all processes in blocks.

The row of an unfinished plan also queues it: a periodic task of the worker makes each such plan that has no live maker.
"""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from datetime import timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from context_protection.configuration.revisions import contents_changed
from context_protection.core.splitting.chunks import ChunkPlan
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.planner import plan_windows
from context_protection.core.splitting.plans import ChunkSizes, IndexingProgress, TextGone
from gateway.connectors.hostaway import pieces
from gateway.connectors.hostaway.models import DocumentContent, TextPlan, TextPlanBlock

SILENCE = timedelta(minutes=5)  # a maker without progress for this long counts as dead
PACE = 10_000_000  # characters per second, assumed until measured
SWEEP_SECONDS = 15  # between two runs of the task that makes queued plans
PLANS_OF_A_TEXT = 4  # the newest plans of each text are kept, up to this number


# -- Reading ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredTextPlan:
    """A `StoredPlan` in the database."""

    id: int
    chunks: int

    def block_of(self, chunk: int) -> tuple[int, ChunkPlan]:
        return self._block(Q(first_chunk__lte=chunk), "-first_chunk")

    def block_at(self, char: int) -> tuple[int, ChunkPlan]:
        return self._block(Q(start__lte=char), "-start")

    def _block(self, condition: Q, order: str) -> tuple[int, ChunkPlan]:
        blocks = TextPlanBlock.objects.filter(condition, plan_id=self.id).order_by(order)
        found = blocks.values_list("first_chunk", "data").first()
        if found is None:
            raise TextGone
        return found[0], ChunkPlan.from_bytes(bytes(found[1]))


def find(digest: str, chunk_sizes: ChunkSizes) -> StoredTextPlan | IndexingProgress:
    """The plan; if it is not finished, queues it and returns its progress. Raises TextGone."""
    row = TextPlan.objects.filter(content_id=digest, cutting=_key(chunk_sizes)).first()
    if row is not None and row.chunks is not None:
        return StoredTextPlan(row.pk, row.chunks)
    chars = DocumentContent.objects.values_list("chars", flat=True).filter(digest=digest).first()
    if chars is None:
        raise TextGone
    if row is None:
        row = order(digest, chunk_sizes)
    return replace(_progress(row, chars), former=_former(digest, chunk_sizes))


def _former(digest: str, chunk_sizes: ChunkSizes) -> ChunkSizes | None:
    """The sizes of the newest finished plan whose chunks respect the hard cap of `chunk_sizes`; None if there is
    none."""
    finished = TextPlan.objects.filter(content_id=digest).exclude(chunks=None).order_by("-pk")
    sizes_of_plans = map(_chunk_sizes, finished.values_list("cutting", flat=True))
    return next((each for each in sizes_of_plans if each.fits_within(chunk_sizes)), None)


def order(digest: str, chunk_sizes: ChunkSizes) -> TextPlan:
    """Queues the plan by creating its row if it is missing. Returns the row."""
    return TextPlan.objects.get_or_create(content_id=digest, cutting=_key(chunk_sizes))[0]


def _progress(row: TextPlan, chars: int) -> IndexingProgress:
    if row.begun_at is None or row.alive_at is None or row.alive_at <= row.begun_at:
        return IndexingProgress(0.0, SWEEP_SECONDS + round(chars / PACE))
    pace = row.done_chars / (row.alive_at - row.begun_at).total_seconds()
    return IndexingProgress(row.done_chars / chars, max(1, round((chars - row.done_chars) / pace)))


def _key(chunk_sizes: ChunkSizes) -> str:
    return ":".join(map(str, astuple(chunk_sizes)))


def _chunk_sizes(key: str) -> ChunkSizes:
    form, *sizes = key.split(":")
    return ChunkSizes(TextForm(form), *map(int, sizes))


# -- Making -----------------------------------------------------------------------------------------


def make(digest: str, chunk_sizes: ChunkSizes, progress: Callable[[int], None] = lambda chars: None) -> None:
    """Makes the plan unless it is finished or being made. `progress` is called with the number of characters done."""
    row = order(digest, chunk_sizes)
    if row.chunks is None and _claim(row):
        for chars in _build(row):
            progress(chars)


def make_ordered() -> int:
    """Makes all queued plans that have no live maker; returns how many it began."""
    made = 0
    for row in TextPlan.objects.filter(_abandoned(), chunks=None):
        if _claim(row):
            for _ in _build(row):
                pass
            made += 1
    if made:
        contents_changed()  # cached responses may have the former chunks
    return made


def _abandoned() -> Q:
    return Q(alive_at=None) | Q(alive_at__lt=timezone.now() - SILENCE)


def _claim(row: TextPlan) -> bool:
    """Tries to become the plan's maker; returns whether it succeeded. Deletes the blocks of an earlier maker."""
    now, row.maker = timezone.now(), uuid4().hex
    begun = {"maker": row.maker, "begun_at": now, "alive_at": now, "done_chars": 0}
    with transaction.atomic():
        claimed = TextPlan.objects.filter(_abandoned(), pk=row.pk, chunks=None).update(**begun)
        if claimed:
            TextPlanBlock.objects.filter(plan_id=row.pk).delete()
    return bool(claimed)


def _build(row: TextPlan) -> Iterator[int]:
    """Makes the plan; yields the number of characters done. Ends early if the plan was purged, or if another maker has
    taken over."""
    chunk_sizes, count = _chunk_sizes(row.cutting), 0
    lines = DocumentContent.objects.values_list("lines", flat=True).get(digest=row.content_id)
    for block in plan_windows(pieces.parts(row.content_id), chunk_sizes.form, chunk_sizes.limits, lines):
        if not _store(row, block, count):
            return
        count += block.chunks
        yield block.cuts[-1]
    TextPlan.objects.filter(pk=row.pk, maker=row.maker).update(chunks=count)


def _store(row: TextPlan, block: ChunkPlan, count: int) -> bool:
    """Stores a block that begins with chunk `count`. Returns False if the plan was purged, or if another maker has
    taken over."""
    with transaction.atomic():
        ours = TextPlan.objects.filter(pk=row.pk, maker=row.maker)
        if not ours.update(done_chars=block.cuts[-1], alive_at=timezone.now()):
            return False
        TextPlanBlock.objects.create(plan_id=row.pk, first_chunk=count, start=block.cuts[0], data=block.to_bytes())
    return True


# -- Purging ----------------------------------------------------------------------------------------


def purge_old() -> int:
    """Removes all but the newest PLANS_OF_A_TEXT plans of each text; returns how many."""
    crowded = TextPlan.objects.values("content_id").annotate(count=Count("pk")).filter(count__gt=PLANS_OF_A_TEXT)
    removed = 0
    for content_id in crowded.values_list("content_id", flat=True):
        newest_first = TextPlan.objects.filter(content_id=content_id).order_by("-pk").values_list("pk", flat=True)
        old = list(newest_first[PLANS_OF_A_TEXT:])
        TextPlan.objects.filter(pk__in=old).delete()
        removed += len(old)
    return removed
