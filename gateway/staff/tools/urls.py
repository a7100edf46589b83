"""The page at /admin/tools/."""

from django.urls import path

from gateway.staff.tools import tool_list_page

app_name = "tool_list"
urlpatterns = [path("", tool_list_page.tools, name="tools")]
