"""The pages at /admin/tools/."""

from django.urls import path

from gateway.staff.tools import confirm_page, tool_list_page

app_name = "tool_list"
urlpatterns = [
    path("", tool_list_page.tools, name="tools"),
    path("save/", confirm_page.confirm, name="save"),
]
