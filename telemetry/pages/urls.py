"""The pages at /telemetry/."""

from django.urls import path

from telemetry.pages import saved_views, search

app_name = "telemetry"
urlpatterns = [
    path("search/", search.search, name="search"),
    path("views/", saved_views.save, name="save-view"),
    path("views/<int:number>/delete/", saved_views.delete, name="delete-view"),
]
