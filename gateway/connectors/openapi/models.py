"""Imported APIs: the contents of their documents, and the changes that ops have made."""

import re
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from simple_history.models import HistoricalRecords

from context_protection.core import field_selection
from context_protection.core.policy import Kind
from gateway.access.tool_switch import ToolSwitch
from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.document.paging import Paging
from gateway.connectors.openapi.response.detection import DetectedList, as_list
from gateway.connectors.openapi.response.stored_shapes import are_sections
from gateway.upstreams.models import UpstreamApi

DRAFTS_LIVE = timedelta(days=1)
NAME = RegexValidator(r"^[a-zA-Z0-9][a-zA-Z0-9_-]*\Z", "Expected letters, digits, _ and -: list_customers.")


class ImportedApi(models.Model):
    """The last imported document of an API, and the connection that its operations are called through."""

    upstream = models.OneToOneField(UpstreamApi, models.CASCADE, related_name="imported", editable=False)
    title = models.CharField(max_length=200, editable=False)
    version = models.CharField(max_length=60, editable=False)
    source = models.CharField(max_length=500, editable=False, help_text="The file or the address of the document.")
    digest = models.CharField(max_length=64, editable=False)
    warnings = models.JSONField(default=list, editable=False)
    awaited = models.JSONField(default=dict, editable=False)  # how a secret will be sent once it is entered
    imported_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("upstream__name",)
        verbose_name = "imported API"

    def __str__(self) -> str:
        return self.upstream.name


class ImportedOperation(ToolSwitch):
    """One operation of an imported API. A new import of the document preserves the settings of ops."""

    unique_by = ("api_id", "key")
    not_in_history = "definition"

    api = models.ForeignKey(ImportedApi, models.CASCADE, related_name="operations", editable=False)
    key = models.CharField(max_length=500, editable=False)
    spec = models.JSONField(editable=False)
    proposed = models.JSONField(default=dict, editable=False)  # the shape of its rows or record, from its schema
    learned = models.JSONField(default=dict, editable=False)  # the same, from its first responses
    listed = models.JSONField(default=dict, editable=False)  # a list that only its responses show: see DetectedList
    is_gone = models.BooleanField(default=False, editable=False)
    tokens = models.PositiveIntegerField(default=0, editable=False)

    name = models.CharField(
        max_length=60, validators=[NAME], help_text="The name of its tool, after the name of the API."
    )
    enabled = models.BooleanField(default=False, help_text="Off: its tool does not exist.")
    pinned = models.BooleanField(
        default=False, help_text="It is listed even for clients that get a search for tools instead of a list."
    )
    title = models.CharField(max_length=100, blank=True, help_text="Empty: the title in the document.")
    description = models.TextField(
        max_length=1000, blank=True, help_text="The description that a model reads. Empty: the one in the document."
    )
    row_fields = models.TextField(
        blank=True, help_text="The fields of a condensed row: names and dotted paths, separated by commas."
    )
    preview_fields = models.TextField(blank=True, help_text="Further fields of a record's preview, in the same form.")
    sections = models.JSONField(
        null=True,
        blank=True,
        help_text='Named parts of a record, by patterns over its field names: {"money": ["price", "tax*"]}.',
    )
    paging = models.JSONField(
        null=True,
        blank=True,
        help_text="How upstream pages its list. Empty: as recognised. {}: upstream does not page it.",
    )
    changed_at = models.DateTimeField(auto_now=True)

    history = HistoricalRecords(excluded_fields=["spec", "proposed", "learned", "listed", "tokens", "is_gone"])

    class Meta:
        ordering = ("api", "name")
        constraints = (
            models.UniqueConstraint(fields=("api", "key"), name="operation_once_per_api"),
            models.UniqueConstraint(
                fields=("api", "name"),
                name="name_once_per_api",
                violation_error_message="Another operation of this API has that name.",
            ),
        )
        verbose_name = "imported operation"

    def __str__(self) -> str:
        return f"{self.api.upstream.name}_{self.name}"

    @property
    def documented(self) -> DocumentedOperation:
        """The operation as documented, completed by the settings of ops staff and by its responses: whether it is a
        list, and how upstream pages it."""
        operation = DocumentedOperation.from_document(self.spec)
        if self.paging and (rows := self.paging.get("rows", operation.rows)) is not None and operation.is_safe:
            return as_list(operation, DetectedList.from_document({"rows": rows, "paging": self.paging}))
        is_open = operation.kind_is_unknown or (operation.kind is Kind.LIST and operation.paging is None)
        return as_list(operation, DetectedList.from_document(self.listed)) if is_open and self.listed else operation

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Not `clean`, which also rejects fields that a form does not have."""
        super().clean_fields(exclude=exclude)
        found: dict[str, str] = {}
        for name in ("row_fields", "preview_fields"):
            names = field_selection.names_in(getattr(self, name))
            if wrong := next((each for each in names if re.search(r"\s", each)), None):
                found[name] = f"{wrong!r} is not a field's name. Expected names separated by commas: id, customer.name"
        if self.sections is not None and not are_sections(self.sections):
            found["sections"] = 'Expected an object of lists of names: {"money": ["price", "tax*"]}.'
        if self.paging and (problem := _paging_problem(self.paging)):
            found["paging"] = problem
        if found := {name: problem for name, problem in found.items() if name not in (exclude or ())}:
            raise ValidationError(found)


def _paging_problem(setting: Any) -> str:
    """Why calls would fail with this setting; empty if they would not."""
    try:
        paging, rows = Paging.from_document(setting), setting.get("rows", "")
    except (AttributeError, KeyError, TypeError, ValueError):
        return (
            'Expected an object such as {"style": "offset", "size": "limit", "position": "offset"}. Styles: offset, '
            "page, cursor, last_id, next_url, link."
        )
    if mistyped := [*paging.mistyped, *([] if isinstance(rows, str) else ["rows"])]:
        return f"Expected a number for size_default, size_maximum and start, and texts elsewhere: see {mistyped[0]}."
    return f"The style {paging.style} needs {' and '.join(paging.missing)}." if paging.missing else ""


class ImportDraft(models.Model):
    """A document that waits for confirmation in a preview. None of its operations is stored before that."""

    name = models.CharField(max_length=32)
    base_url = models.CharField(max_length=500, blank=True)
    source = models.CharField(max_length=500)
    document = models.BinaryField()
    made_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.name} ({self.made_at:%Y-%m-%d %H:%M})"

    @classmethod
    def purge(cls) -> int:
        """Deletes drafts that have expired; returns how many."""
        return cls.objects.filter(made_at__lt=timezone.now() - DRAFTS_LIVE).delete()[0]
