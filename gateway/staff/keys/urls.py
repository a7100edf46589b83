"""The pages at /admin/keys/. Keys are created and changed in the forms of the admin."""

from django.urls import path

from gateway.staff.keys import first_call, key_list, revocation, rotation

app_name = "keys"
urlpatterns = [
    path("", key_list.keys, name="keys"),
    path("<int:key_number>/rotate/", rotation.rotate, name="rotate"),
    path("<int:key_number>/revoke/", revocation.revoke, name="revoke"),
    path("<int:key_number>/first-call/", first_call.first_call, name="first-call"),
]
