"""The address that Hostaway itself calls."""

from django.urls import path

from gateway.connectors.hostaway import webhooks

urlpatterns = [path("webhooks/hostaway", webhooks.receive, name="hostaway-webhook")]
