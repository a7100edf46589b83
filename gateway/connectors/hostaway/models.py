"""The account as Sluice keeps it: columns for what is filtered, sorted or summed; the upstream object whole."""

from django.db import models


class UpstreamObject(models.Model):
    """`seq` grows with every insert and is what a walk's watermark is taken of; `id` is upstream's."""

    seq = models.BigAutoField(primary_key=True)
    id = models.BigIntegerField(unique=True)
    inserted_on = models.DateTimeField(help_text="When upstream created it; UTC")
    data = models.TextField(help_text="The upstream object, compact JSON")
    chars = models.PositiveIntegerField(help_text="Length of data in characters")
    field_count = models.PositiveIntegerField(help_text="Top-level fields that are not withheld")

    class Meta:
        abstract = True
        ordering = ("-inserted_on", "-id")


def _newest_first(name: str) -> models.Index:
    return models.Index(models.F("inserted_on").desc(), models.F("id").desc(), name=f"{name}_newest_first")


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
        indexes = (_newest_first("listing"),)

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
            _newest_first("booking"),
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
        indexes = (_newest_first("transaction"),)

    def __str__(self) -> str:
        return f"{self.id} {self.type or ''}".strip()


class DocumentContent(models.Model):
    """One version of a document's text. It never changes, so that a walk over it reads the same text to its end;
    what no document has any more is purged after the cursors into it have expired."""

    digest = models.CharField(primary_key=True, max_length=64, help_text="SHA-256 of the text, hexadecimal")
    text = models.TextField()
    unused_since = models.DateTimeField(null=True, db_index=True)

    def __str__(self) -> str:
        return self.digest[:12]


class Document(models.Model):
    """A text of the account: a log, a manual."""

    seq = models.BigAutoField(primary_key=True)
    id = models.CharField(max_length=200, unique=True, help_text="The file's name")
    title = models.CharField(max_length=300)
    media_type = models.CharField(max_length=100)
    content = models.ForeignKey(DocumentContent, on_delete=models.PROTECT, related_name="documents")
    lines = models.PositiveIntegerField()
    bytes = models.PositiveBigIntegerField()
    estimated_tokens = models.PositiveIntegerField()
    inserted_on = models.DateTimeField()
    updated_on = models.DateTimeField()

    class Meta:
        ordering = ("-inserted_on", "-seq")

    def __str__(self) -> str:
        return self.title
