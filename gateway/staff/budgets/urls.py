"""The pages at /admin/budgets/."""

from django.urls import path

from gateway.staff.budgets import budget_list, budget_page

app_name = "budgets"
urlpatterns = [
    path("", budget_list.budgets, name="budgets"),
    path("<path:name>/undo/", budget_page.undo, name="undo"),
    path("<path:name>/", budget_page.budget, name="budget"),
]
