"""Django's admin application, with Sluice's admin site (gateway/logins/site.py)."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks


class AdminConfig(SimpleAdminConfig):
    """Unlike Django's own, does not load the admin's pages at the start: they take 3 MB, and gateway/urls.py loads them
    with the first page."""

    default_site = "gateway.logins.site.SluiceAdminSite"

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(check_pages, checks.Tags.admin)


def check_pages(app_configs: Any, **options: Any) -> list[checks.CheckMessage]:
    admin.autodiscover()
    found: list[checks.CheckMessage] = check_admin_app(app_configs, **options)
    return found
