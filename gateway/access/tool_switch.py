"""The base class of rows that switch tools: those of a connector, or a single one."""

from typing import ClassVar

from django.db import models
from django.urls import reverse


class ToolSwitch(models.Model):
    """A row that switches tools on and off. `switched_by`: the name of the field. `unique_by`: the fields that say
    which tool it switches, also after it was deleted and added again. `not_in_history`: what a rollback cannot restore,
    as in every model whose history leaves out fields."""

    switched_by: ClassVar[str] = "enabled"
    unique_by: ClassVar[tuple[str, ...]]
    not_in_history: ClassVar[str] = ""

    class Meta:
        abstract = True

    @property
    def is_switched_on(self) -> bool:
        return bool(getattr(self, self.switched_by))

    def switch(self, *, is_on: bool) -> None:
        """Sets the field for a person's choice. Does not save."""
        setattr(self, self.switched_by, is_on)

    @property
    def switch_id(self) -> str:
        """Identifies the row among those of all models: mcp_servers.mcptool:5"""
        return f"{self._meta.label_lower}:{self.pk}"

    @property
    def admin_page(self) -> str:
        """Its page in the admin."""
        return reverse(f"admin:{self._meta.app_label}_{self._meta.model_name}_change", args=[self.pk])

    @classmethod
    def permission(cls, verb: str) -> str:
        """`verb`: view or change."""
        return f"{cls._meta.app_label}.{verb}_{cls._meta.model_name}"
