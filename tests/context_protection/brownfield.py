"""An existing project of Django REST framework, which knows nothing of context protection: plain views."""

from django.urls import include, path
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import ReadOnlyModelViewSet

from gateway.connectors.hostaway.models import Booking


class BookingSerializer(serializers.ModelSerializer[Booking]):
    class Meta:
        model = Booking
        exclude = ("seq",)


class BookingViewSet(ReadOnlyModelViewSet[Booking]):
    queryset = Booking.objects.all()
    serializer_class = BookingSerializer
    lookup_field = "id"
    permission_classes = (AllowAny,)
    authentication_classes = ()

    def get_queryset(self):  # type: ignore[no-untyped-def]
        return super().get_queryset().exclude(status="cancelled")

    def filter_queryset(self, queryset):  # type: ignore[no-untyped-def]
        status = self.request.query_params.get("status")
        return queryset.filter(status=status) if status else queryset


router = SimpleRouter()
router.register("old", BookingViewSet, basename="old")
urlpatterns = [path("", include(router.urls))]
