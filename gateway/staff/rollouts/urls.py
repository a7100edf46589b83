"""The pages at /admin/rollouts/."""

from django.urls import path

from gateway.staff.rollouts import pages

app_name = "rollouts"
urlpatterns = [
    path("", pages.rollouts, name="rollouts"),
    path("new/", pages.new, name="new"),
    path("<slug:name>/", pages.rollout, name="rollout"),
    path("<slug:name>/<slug:action>/", pages.act, name="act"),
]
