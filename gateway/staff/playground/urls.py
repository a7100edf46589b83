"""The playground, at /telemetry/playground/."""

from django.urls import path

from gateway.staff.playground import playground_page

app_name = "playground"
urlpatterns = [path("", playground_page.playground, name="playground")]
