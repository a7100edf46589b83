"""The admin site of Sluice: Django's own, under our name and style (templates/admin/base_site.html)."""

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig


class AdminConfig(DjangoAdminConfig):
    default_site = "gateway.process.apps.SluiceAdminSite"


class SluiceAdminSite(AdminSite):
    site_title = "Sluice"
    site_header = "Sluice"
    index_title = "Operations"
