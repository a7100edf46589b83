from django.urls import include, path
from rest_framework.routers import SimpleRouter

from tests.brownfield import views

router = SimpleRouter()
router.register("orders", views.Orders, basename="order")
router.register("changing-orders", views.ChangingOrders, basename="changing-order")
router.register("parcels", views.Parcels, basename="parcel")
router.register("plain-orders", views.PlainJSONOrders, basename="plain-order")
router.register("offset-orders", views.OffsetOrders, basename="offset-order")
router.register("cursor-orders", views.CursorOrders, basename="cursor-order")

urlpatterns = [
    path("", include(router.urls)),
    path("report/", views.report, name="report"),
    path("exact/", views.exact, name="exact"),
    path("rows/", views.rows, name="rows"),
    path("customers/<int:pk>/rows/", lambda request, pk: views.rows(request), name="customer-rows"),
    path("document/", views.document, name="document"),
    path("later/", views.later, name="later"),
    path("numbers/", views.numbers, name="numbers"),
    path("text/", views.text, name="text"),
    path("nested/", views.nested, name="nested"),
    path("broken/", views.broken, name="broken"),
    path("untouched/<str:kind>/", views.untouched, name="untouched"),
    path("meanwhile/", views.budget_changes_meanwhile, name="meanwhile"),
    path("without-walks/", views.without_walks, name="without-walks"),
    path("walks-again/", views.walks_again, name="walks-again"),
    path("calls/", views.calls, name="calls"),
]
