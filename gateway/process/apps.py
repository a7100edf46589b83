"""Django's admin application, with Sluice's admin site (gateway/logins/site.py)."""

from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig


class AdminConfig(DjangoAdminConfig):
    default_site = "gateway.logins.site.SluiceAdminSite"
