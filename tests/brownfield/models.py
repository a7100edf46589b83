import uuid
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.db import models


class Order(models.Model):
    customer = models.CharField(max_length=100)
    status = models.CharField(max_length=20)
    total = models.DecimalField(max_digits=10, decimal_places=2)
    notes = models.TextField()
    placed_at = models.DateTimeField()

    class Meta:
        ordering = ("-placed_at",)

    def __str__(self) -> str:
        return self.customer


class Parcel(models.Model):
    """Its keys are no whole numbers."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    label = models.CharField(max_length=100)

    class Meta:
        ordering = ("label",)

    def __str__(self) -> str:
        return self.label


def fill() -> None:
    for name in ("ann", "bob"):
        User.objects.create_user(name, password=name)
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    Order.objects.bulk_create(
        Order(
            customer=f"Customer {n}",
            status="open" if n % 3 else "closed",
            total=f"{n}.50",
            notes=f"Order {n} is to be left with the neighbour. " * 12,
            placed_at=noon - timedelta(minutes=n // 2),
        )
        for n in range(300)
    )
    Parcel.objects.bulk_create(Parcel(label=f"Parcel {n:03}") for n in range(120))
