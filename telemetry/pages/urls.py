"""The pages at /telemetry/."""

from django.urls import path

from telemetry.pages import caller, callers, overview, saved_views, search, tool, tools, upstream, upstreams

app_name = "telemetry"
urlpatterns = [
    path("overview/", overview.overview, name="overview"),
    path("tools/", tools.tools, name="tools"),
    path("tools/<path:name>/", tool.tool, name="tool"),
    path("callers/", callers.callers, name="callers"),
    path("callers/<path:name>/", caller.caller, name="caller"),
    path("upstreams/", upstreams.upstreams, name="upstreams"),
    path("upstreams/<path:name>/", upstream.upstream, name="upstream"),
    path("search/", search.search, name="search"),
    path("views/", saved_views.save, name="save-view"),
    path("views/<int:number>/delete/", saved_views.delete, name="delete-view"),
]
