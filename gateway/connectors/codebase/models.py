"""The source trees that the codebase tools read."""

from django.db import models


class Project(models.Model):
    """`path`: the root of a git repository on this machine, absolute and without links. It is only read."""

    name = models.SlugField(max_length=32, unique=True)
    path = models.CharField(max_length=1000)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
