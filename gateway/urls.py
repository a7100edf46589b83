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

admin.autodiscover()  # here, not at the start: most processes answer no page of the admin

urlpatterns = [
    path("", home, name="home"),
    path("admin/keys/", include("gateway.staff.keys.urls")),
    path("admin/tools/", include("gateway.staff.tools.urls")),
    path("admin/budgets/", include("gateway.staff.budgets.urls")),
    path("admin/history/", include("gateway.staff.history.urls")),
    path("admin/rollouts/", include("gateway.staff.rollouts.urls")),
    path("connect/", connect, name="connect"),
    path("admin/", admin.site.urls),
    path("api/schema/", known_visitors_only(SpectacularAPIView.as_view()), name="schema"),
    path("api/docs/", known_visitors_only(SpectacularSwaggerSplitView.as_view(url_name="schema")), name="docs"),
    path("api/", include("gateway.api.urls")),
    path("config", EffectiveView.as_view(schema=None)),
    path("config/validate", ValidationView.as_view(schema=None)),
    path("telemetry/playground/", include("gateway.staff.playground.urls")),
    path("telemetry/experiments/", include("gateway.staff.experiments.urls")),
    path("telemetry/", include("telemetry.pages.urls")),
    path("health", health, name="health"),
    path("metrics", metrics, name="metrics"),
    *(path("", include(f"{name}.urls")) for name in with_module("urls")),
]

handler400 = "gateway.error_pages.bad_request"
handler403 = "gateway.error_pages.not_permitted"
handler404 = "gateway.error_pages.page_not_found"
handler500 = "gateway.error_pages.server_error"
