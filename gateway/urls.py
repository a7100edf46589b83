"""Every URL that Django answers. /mcp, /healthz, /readyz and, with a key, /metrics are routed before Django
(asgi.py)."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from gateway.api.configuration import EffectiveView, ValidationView
from gateway.connectors import with_module
from gateway.pages.connect import connect
from gateway.pages.health import health, metrics
from gateway.pages.home import home
from gateway.pages.visitors import known_visitors_only

urlpatterns = [
    path("", home, name="home"),
    path("admin/keys/", include("gateway.keys.urls")),
    path("admin/tools/", include("gateway.tools.urls")),
    path("admin/budgets/", include("gateway.budgets.urls")),
    path("admin/history/", include("gateway.history.urls")),
    path("admin/rollouts/", include("gateway.rollouts.urls")),
    path("connect/", connect, name="connect"),
    path("admin/", admin.site.urls),
    path("api/schema/", known_visitors_only(SpectacularAPIView.as_view()), name="schema"),
    path("api/docs/", known_visitors_only(SpectacularSwaggerSplitView.as_view(url_name="schema")), name="docs"),
    path("api/", include("gateway.api.urls")),
    path("config", EffectiveView.as_view(schema=None)),
    path("config/validate", ValidationView.as_view(schema=None)),
    path("telemetry/playground/", include("gateway.playground.urls")),
    path("telemetry/experiments/", include("gateway.experiments.urls")),
    path("telemetry/", include("telemetry.pages.urls")),
    path("health", health, name="health"),
    path("metrics", metrics, name="metrics"),
    *(path("", include(f"{name}.urls")) for name in with_module("urls")),
]

handler400 = "gateway.api.errors.bad_request"
handler403 = "gateway.api.errors.not_permitted"
handler404 = "gateway.api.errors.page_not_found"
handler500 = "gateway.api.errors.server_error"
