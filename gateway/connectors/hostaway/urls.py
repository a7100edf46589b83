"""The URL that Hostaway calls for webhooks."""

from django.urls import path

from gateway.connectors.hostaway import webhooks

urlpatterns = [path("webhooks/hostaway", webhooks.receive, name="hostaway-webhook")]
