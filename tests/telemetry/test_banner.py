"""Open alerts at the top of the pages that staff look at, and nowhere else."""

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.template.loader import render_to_string
from django.test import RequestFactory

from telemetry.banner import open_alerts
from telemetry.models import Alert
from tests.telemetry.alerts.examples import an_alert
from tests.telemetry.examples import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture
def alert():
    return an_alert(message="6 of 100 answers <would> have been too large.")


@pytest.fixture
def staff():
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_alert"))
    return user


def banner(path, user):
    request = RequestFactory().get(path)
    request.user = user
    return render_to_string("telemetry/_alerts.html", open_alerts(request))


@pytest.mark.parametrize("path", ["/admin/", "/admin/telemetry/alert/", "/telemetry/"])
def test_staff_see_open_alerts(path, alert, staff):
    html = banner(path, staff)
    assert 'role="alert"' in html
    assert "6 of 100 answers &lt;would&gt;" in html
    assert f'href="/admin/telemetry/alert/{alert.pk}/change/"' in html


def test_staff_who_see_calls_are_led_to_the_alerts_own_page(alert, staff):
    staff.user_permissions.add(Permission.objects.get(codename="view_telemetryrecord"))
    assert f'href="/telemetry/alerts/{alert.pk}/"' in banner("/admin/", User.objects.get(pk=staff.pk))


def test_staff_who_may_not_open_alerts_get_no_link(alert):
    html = banner("/admin/", User.objects.create_user("clerk", is_staff=True))
    assert "6 of 100" in html
    assert "<a " not in html


@pytest.mark.usefixtures("alert")
def test_others_see_nothing():
    assert banner("/admin/", AnonymousUser()).strip() == ""
    assert banner("/admin/", User.objects.create_user("visitor")).strip() == ""


def test_a_cleared_alert_is_gone(alert, staff):
    Alert.objects.filter(pk=alert.pk).update(state="normal", ended_at=NOON)
    assert banner("/admin/", staff).strip() == ""


@pytest.mark.usefixtures("alert")
def test_other_pages_do_not_ask_the_database(staff, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert banner("/api/docs/", staff).strip() == ""


@pytest.mark.usefixtures("alert")
def test_a_page_that_shows_no_banner_does_not_ask_the_database(staff, django_assert_num_queries):
    request = RequestFactory().get("/admin/")
    request.user = staff
    with django_assert_num_queries(0):
        open_alerts(request)
