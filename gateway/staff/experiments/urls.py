"""The pages at /telemetry/experiments/."""

from django.urls import path

from gateway.staff.experiments import pages

app_name = "experiments"
urlpatterns = [
    path("", pages.experiments, name="experiments"),
    path("new/", pages.new, name="new"),
    path("<slug:name>/", pages.experiment, name="experiment"),
    path("<slug:name>/act/", pages.act, name="act"),
]
