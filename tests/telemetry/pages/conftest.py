from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission
from django.test import Client


@pytest.fixture
def staff(db: None, django_user_model: type) -> Client:
    """Somebody who may see calls, and nothing else."""
    client = Client(headers={"Accept": "text/html"})
    user = django_user_model.objects.create_user("ops-2", password="a long password", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_telemetryrecord"))
    client.force_login(user)
    client.user = user
    return client


@pytest.fixture
def other_staff(staff: Client, django_user_model: type) -> Iterator[Client]:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(django_user_model.objects.create_superuser("admin-1", password="a long password"))
    return client
