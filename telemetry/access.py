"""Access checks for the pages, and the text for a user who may not open one."""

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

SEE_CALLS = "telemetry.view_telemetryrecord"
VERBS = {"view": "see", "add": "add", "change": "edit", "delete": "delete"}  # Django's verbs in plain words


def refusal(request: HttpRequest, needed: str) -> HttpResponseBase | None:
    """None if the user may see the page; otherwise a redirect to the login, or a 403 page that says who may."""
    user = getattr(request, "user", AnonymousUser())
    if not user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not user.is_staff:
        return refused(request, "")
    if not admin.site.has_permission(request):  # for example, the second factor was not proved
        return redirect_to_login(request.get_full_path())
    if not user.has_perm(needed):
        return refused(request, needed)
    return None


def may_see(request: HttpRequest, needed: str) -> bool:
    """Whether `refusal` would return None; for code that cannot answer with a page, such as a WebSocket."""
    user = request.user
    return user.is_staff and admin.site.has_permission(request) and user.has_perm(needed)


def refused(request: HttpRequest, needed: str) -> HttpResponse:
    """The 403 page. `needed` is the missing permission; "" if it is unknown or would not be enough."""
    return render(request, "403.html", {"sentence": refusal_words(request.user, needed)}, status=403)


def refusal_words(user: object, needed: str) -> str:
    """Example: Your role (viewer) cannot edit token budgets. People with the role ops can; an admin gives it to you."""
    if not getattr(user, "is_staff", False):
        return "Your user is not marked as staff. An admin sets the mark “staff status”."
    own = sorted(user.groups.values_list("name", flat=True))  # type: ignore[attr-defined]
    who = f"Your role ({', '.join(own)})" if own else "You have no role yet, and"
    permission = _permission(needed)
    if permission is None:
        return f"{who} cannot open this page. An admin can give you another role."
    if user.has_perm(needed):  # type: ignore[attr-defined]  # so the page itself forbids the action
        return f"Nobody can {_action(permission)} here."
    return f"{who} cannot {_action(permission)}. {who_may(needed)}"


def who_may(needed: str) -> str:
    """Example: People with the role ops can; an admin gives it to you."""
    app, _, codename = needed.partition(".")
    groups = Group.objects.filter(permissions__content_type__app_label=app, permissions__codename=codename)
    roles = sorted(groups.values_list("name", flat=True))
    if not roles:
        return f"No role has the permission {needed}; a superuser can give it to you."
    named = [each for each in roles if each != "admin"] or roles
    listed = " or ".join(part for part in (", ".join(named[:-1]), named[-1]) if part)
    return f"People with the role {listed} can; an admin gives it to you."


def _permission(label: str) -> Permission | None:
    app, _, codename = label.partition(".")
    found = Permission.objects.filter(content_type__app_label=app, codename=codename).select_related("content_type")
    return found.first()


def _action(permission: Permission) -> str:
    """For example "edit token budgets". For a custom permission, its name, such as "replay a recorded call"."""
    verb, _, model = permission.codename.partition("_")
    of = permission.content_type.model_class()
    if of is None or verb not in VERBS or model != permission.content_type.model:
        return permission.name.removeprefix("Can ")
    return f"{VERBS[verb]} {of._meta.verbose_name_plural}"
