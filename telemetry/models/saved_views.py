"""Views of the pages at /telemetry/ that people saved."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    name = models.CharField(max_length=80)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    address = models.CharField(max_length=2000, help_text="Path and query of a page below /telemetry/.")
    is_shared = models.BooleanField("shared", default=False, help_text="All staff who may see the page find it.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        return self.name

    @property
    def link(self) -> str:
        """The address with the view's id, so that the page shows the view's name."""
        parts = urlsplit(self.address)
        pairs = [(name, value) for name, value in parse_qsl(parts.query) if name != "view"]
        return f"{parts.path}?{urlencode([*pairs, ('view', str(self.pk))], safe=':,*!')}"
