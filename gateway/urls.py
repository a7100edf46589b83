"""Every URL that Django answers. /mcp, /healthz, /readyz and, with a key, /metrics are routed before Django
(asgi.py)."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from gateway import views
from gateway.connectors import with_module
from gateway.visitors import for_those_known

urlpatterns = [
    path("", views.home, name="home"),
    path("admin/", admin.site.urls),
    path("api/schema/", for_those_known(SpectacularAPIView.as_view()), name="schema"),
    path("api/docs/", for_those_known(SpectacularSwaggerSplitView.as_view(url_name="schema")), name="docs"),
    path("api/", include("gateway.api.urls")),
    path("health", views.health, name="health"),
    path("metrics", views.metrics, name="metrics"),
    *(path("", include(f"{name}.urls")) for name in with_module("urls")),
]

handler400 = "gateway.api.errors.bad_request"
handler403 = "gateway.api.errors.not_permitted"
handler404 = "gateway.api.errors.page_not_found"
handler500 = "gateway.api.errors.server_error"
