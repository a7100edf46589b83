"""The stored account: columns for values that are filtered, sorted or summed, and the whole upstream object."""

from typing import ClassVar

from django.db import models


class UpstreamObject(models.Model):
    """`id` is upstream's. `seq` grows with every insert; a snapshot takes its watermark from it."""

    SEALED_CONTENT: ClassVar[str] = "sealed"  # the column that is encrypted again when keys rotate

    seq = models.BigAutoField(primary_key=True)
    id = models.BigIntegerField(unique=True)
    inserted_on = models.DateTimeField(help_text="When upstream created it; UTC")
    updated_on = models.DateTimeField(null=True, help_text="When upstream changed it last, where it says so; UTC")
    seen_at = models.DateTimeField(null=True, help_text="When it was last seen upstream")
    data = models.TextField(help_text="The upstream object without its secrets, compact JSON")
    sealed = models.TextField(blank=True, default="", help_text="The values that are masked in data, encrypted")
    chars = models.PositiveIntegerField(help_text="Length of data in characters")
    field_count = models.PositiveIntegerField(help_text="Top-level fields")

    class Meta:
        abstract = True
        ordering = ("-inserted_on", "-id")


def _newest_first(name: str, *columns: str) -> models.Index:
    """An index in the order of lists. It also contains `columns`, so that lists are filtered and aggregated by them
    without reading the table. In SQLite, reading a row means reading past its large `data`, which takes most of the
    time. The columns must be short: Postgres limits an index entry to 2,700 bytes."""
    order = models.F("inserted_on").desc(), models.F("id").desc()
    return models.Index(*order, *columns, name=f"{name}_newest_first")


class Listing(UpstreamObject):
    name = models.TextField(blank=True)
    status = models.CharField(max_length=100, null=True)
    city = models.TextField(null=True)
    country = models.TextField(null=True)
    bedrooms = models.FloatField(null=True)
    bathrooms = models.FloatField(null=True)
    max_guests = models.BigIntegerField(null=True)
    price = models.DecimalField(max_digits=18, decimal_places=4, null=True)
    currency = models.CharField(max_length=100, null=True)

    class Meta(UpstreamObject.Meta):
        indexes = (_newest_first("listing", "status", "bedrooms", "bathrooms", "max_guests", "price", "currency"),)

    def __str__(self) -> str:
        return self.name or str(self.id)


class Booking(UpstreamObject):
    status = models.CharField(max_length=100, null=True, help_text="Canonical: new and modified are confirmed")
    source_status = models.CharField(max_length=100, null=True)
    guest_name = models.TextField(null=True)
    check_in = models.DateField(null=True)
    check_out = models.DateField(null=True)
    nights = models.BigIntegerField(null=True)
    guests = models.BigIntegerField(null=True)
    total_price = models.DecimalField(max_digits=18, decimal_places=4, null=True)
    currency = models.CharField(max_length=100, null=True)
    property_id = models.BigIntegerField(null=True, db_index=True)
    channel = models.CharField(max_length=100, null=True)

    class Meta(UpstreamObject.Meta):
        indexes = (
            _newest_first(
                "booking",
                "status",
                "source_status",
                "check_in",
                "check_out",
                "nights",
                "guests",
                "total_price",
                "currency",
                "property_id",
                "channel",
            ),
            models.Index(fields=["status"]),
            models.Index(fields=["check_in"]),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.guest_name or ''}".strip()


class Transaction(UpstreamObject):
    type = models.CharField(max_length=100, null=True)
    status = models.CharField(max_length=100, null=True)
    amount = models.DecimalField(max_digits=18, decimal_places=4, null=True)
    currency = models.CharField(max_length=100, null=True)
    booking_id = models.BigIntegerField(null=True, db_index=True)
    property_id = models.BigIntegerField(null=True)

    class Meta(UpstreamObject.Meta):
        indexes = (_newest_first("transaction", "type", "status", "amount", "currency", "booking_id", "property_id"),)

    def __str__(self) -> str:
        return f"{self.id} {self.type or ''}".strip()


class DocumentContent(models.Model):
    """One version of a document's text, stored in pieces. It is immutable, so that a snapshot reads the same text to
    the end. A version without a document is purged after the cursors into it have expired."""

    digest = models.CharField(primary_key=True, max_length=64, help_text="SHA-256 of the text as UTF-8, hexadecimal")
    chars = models.PositiveBigIntegerField()
    lines = models.PositiveBigIntegerField()
    bytes = models.PositiveBigIntegerField(help_text="Of the text as UTF-8")
    is_loaded = models.BooleanField(default=False, help_text="All pieces are there")
    unused_since = models.DateTimeField(null=True, db_index=True)

    def __str__(self) -> str:
        return self.digest[:12]


class TextPiece(models.Model):
    """A piece of exactly CHARS characters, so that the number of the piece at any position can be computed. Only the
    last piece of a text may be shorter."""

    CHARS = 1 << 16

    pk = models.CompositePrimaryKey("content", "number")
    content = models.ForeignKey(DocumentContent, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    number = models.PositiveIntegerField()
    first_line = models.PositiveBigIntegerField(help_text="The line, from 1, in which its first character is")
    data = models.BinaryField(help_text="UTF-8, compressed by zlib")

    class Meta:
        indexes = (models.Index(fields=["content", "first_line", "number"], name="text_piece_by_line"),)

    def __str__(self) -> str:
        return f"{self.content_id[:12]} {self.number}"


class TextPlan(models.Model):
    """The chunk plan of a long text for given limits: made once, in the background, for all processes."""

    content = models.ForeignKey(DocumentContent, on_delete=models.CASCADE, related_name="plans")
    cutting = models.CharField(max_length=100, help_text="The form of the text and the limits of a chunk")
    chunks = models.PositiveBigIntegerField(null=True, help_text="Empty until all of them are found")
    done_chars = models.PositiveBigIntegerField(default=0)
    maker = models.CharField(max_length=32, blank=True, help_text="The worker that makes it")
    begun_at = models.DateTimeField(null=True)
    alive_at = models.DateTimeField(null=True, help_text="The last sign of life of its maker")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["content", "cutting"], name="one_plan_of_a_cutting"),)

    def __str__(self) -> str:
        return f"{self.content_id[:12]} {self.cutting}"


class TextPlanBlock(models.Model):
    """Consecutive chunks of a plan, from character `start` of the text on."""

    pk = models.CompositePrimaryKey("plan", "first_chunk")
    plan = models.ForeignKey(TextPlan, on_delete=models.CASCADE, related_name="blocks", db_index=False)
    first_chunk = models.PositiveBigIntegerField()
    start = models.PositiveBigIntegerField()
    data = models.BinaryField(help_text="A ChunkPlan")

    class Meta:
        indexes = (models.Index(fields=["plan", "start"], name="text_plan_block_by_start"),)

    def __str__(self) -> str:
        return f"{self.plan_id} {self.first_chunk}"


class Document(models.Model):
    """A file of the account, such as a log or a manual. A file that is not text has no content and no lines."""

    seq = models.BigAutoField(primary_key=True)
    id = models.CharField(max_length=200, unique=True, help_text="The file's name")
    title = models.CharField(max_length=300)
    media_type = models.CharField(max_length=100)
    encoding = models.CharField(max_length=40, null=True, help_text="The encoding of the file's text; empty: no text")
    sha256 = models.CharField(max_length=64, help_text="Of the file, hexadecimal")
    bytes = models.PositiveBigIntegerField(help_text="Of the file")
    content = models.ForeignKey(DocumentContent, on_delete=models.PROTECT, related_name="documents", null=True)
    lines = models.PositiveBigIntegerField(null=True)
    estimated_tokens = models.PositiveBigIntegerField(null=True)
    inserted_on = models.DateTimeField()
    updated_on = models.DateTimeField()

    class Meta:
        ordering = ("-inserted_on", "-seq")

    def __str__(self) -> str:
        return self.title


class SyncState(models.Model):
    """The sync state of one resource, from which any worker can continue a run."""

    class Mode(models.TextChoices):
        NONE = "", "none under way"
        FULL = "full", "everything"
        CHANGES = "changes", "what has changed"

    resource = models.CharField(primary_key=True, max_length=40)
    account = models.CharField(max_length=100)
    is_adopted = models.BooleanField(default=False, help_text="The store holds this account, and nothing of another")
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.NONE, blank=True)
    started_at = models.DateTimeField(null=True, help_text="When the run under way began")
    position = models.BigIntegerField(default=0, help_text="Where it continues: an id, or the number of rows before")
    rows = models.PositiveBigIntegerField(default=0, help_text="Rows read so far")
    refused_rows = models.PositiveBigIntegerField(default=0, help_text="Of these, rows that were no objects with an id")
    left_out = models.JSONField(
        default=dict, blank=True, help_text="Ids of records that upstream has and the copy lacks or has older, and why"
    )
    attempts = models.PositiveIntegerField(default=0, help_text="Attempts at the next page")
    as_of = models.DateTimeField(null=True, help_text="The copy has upstream's state of this time")
    full_at = models.DateTimeField(null=True, help_text="When the last completed full run began")
    gone_before = models.DateTimeField(null=True, help_text="Rows last seen upstream before this time are checked")
    error = models.CharField(max_length=100, blank=True, help_text="The error of the last attempt; empty: it succeeded")
    error_at = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True, help_text="Not tried again before this time")

    def __str__(self) -> str:
        return self.resource


class Lease(models.Model):
    """One worker's exclusive right to a job, which expires unless it is renewed."""

    name = models.CharField(primary_key=True, max_length=40)
    holder = models.CharField(max_length=32, blank=True)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class WebhookEvent(models.Model):
    """An event sent by upstream. `body` is encrypted. It is emptied once the event is applied, as the store then has
    the object."""

    SEALED_CONTENT: ClassVar[str] = "body"

    class EventOutcome(models.TextChoices):
        WAITING = "", "waiting"
        APPLIED = "applied", "applied"
        OLDER = "older", "older than what is stored"
        KEPT = "kept", "stored; nothing to do"
        FAILED = "failed", "failed"

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the body, hexadecimal")
    event = models.CharField(max_length=100, blank=True)
    object_id = models.BigIntegerField(null=True)
    body = models.TextField(blank=True, help_text="The event, encrypted")
    received_at = models.DateTimeField(db_index=True)
    attempts = models.PositiveIntegerField(default=0)
    outcome = models.CharField(max_length=10, choices=EventOutcome, default=EventOutcome.WAITING, blank=True)
    error = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering = ("-received_at", "-pk")
        indexes = (models.Index(fields=["received_at"], condition=models.Q(outcome=""), name="webhook_event_waiting"),)

    def __str__(self) -> str:
        return f"{self.event} {self.object_id or ''}".strip()
