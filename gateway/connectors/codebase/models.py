"""The source trees that the codebase tools read, and the progress of their indexes."""

from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import models
from simple_history.models import HistoricalRecords

from context_protection.configuration.revisions import bump_when_changed
from gateway.connectors.codebase.progress import IndexStatus
from gateway.connectors.codebase.roots import ProjectRefused, checked_name, checked_root


class Project(models.Model):
    """`path`: the root of a git repository on this machine, absolute, with symbolic links resolved. It is only read."""

    name = models.SlugField(max_length=32, unique=True)
    path = models.CharField(max_length=1000)
    created_at = models.DateTimeField(auto_now_add=True)

    history = HistoricalRecords()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Validates the name and the path, and resolves the path."""
        try:
            checked_name(self.name)
            self.path = str(checked_root(self.path))
        except ProjectRefused as error:
            raise ValidationError(str(error)) from None

    @property
    def root(self) -> Path:
        return Path(self.path)


class IndexState(models.Model):
    """`processed_files`, `total_files`, `percent` and `started_at`: of the last run. `expected_at`: when a run is
    estimated to end. `checked_at`: when the tree was last compared with the index. `commit`: HEAD's commit in the last
    complete run. `error`: a sentence; empty unless the last run failed."""

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="index")
    status = models.CharField(
        max_length=12, choices=[(each.value, each.value) for each in IndexStatus], default=IndexStatus.NOT_STARTED
    )
    processed_files = models.PositiveIntegerField(default=0)
    total_files = models.PositiveIntegerField(default=0)
    percent = models.PositiveSmallIntegerField(default=0)
    current_activity = models.CharField(max_length=200, blank=True, default="")
    error = models.TextField(blank=True, default="")
    commit = models.CharField(max_length=64, blank=True, default="")
    started_at = models.DateTimeField(null=True, blank=True)
    expected_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("project",)

    def __str__(self) -> str:
        return f"{self.project}: {self.status}"


bump_when_changed(Project)
