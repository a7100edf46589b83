"""The pages at /admin/history/."""

from django.urls import path

from gateway.staff.history import change_list, change_page, cursor_page, rollback_page

app_name = "history"
urlpatterns = [
    path("", change_list.history, name="history"),
    path("rollback/", rollback_page.roll_back, name="rollback"),
    path("cursor/", cursor_page.cursor, name="cursor"),
    path("<int:number>/", change_page.change, name="change"),
]
