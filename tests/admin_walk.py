"""Every address and every action of the admin, found in the admin itself and asked for as several users.

A model that is registered tomorrow is walked tomorrow. Where the walk cannot make a row, fill in an address or find a
form that changes something, it says so instead of passing.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Self

from django.apps import apps
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import JSONField, Model
from django.db.models.fields import (
    NOT_PROVIDED,
    BooleanField,
    CharField,
    DateField,
    DateTimeField,
    Field,
    FloatField,
    IntegerField,
    TextField,
)
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils import timezone

from gateway.logins.models import SecurityEvent

admin.autodiscover()  # as the first page of a process does

ROOT = "/admin/"
# Pages of the site itself, which everybody who may log in may open; all others need a permission.
FOR_ALL_STAFF = {
    "index",
    "login",
    "login_code",  # for whoever has sent the password
    "logout",
    "second_factor",  # the own one
    "password_change",
    "password_change_done",
    "jsi18n",
    "autocomplete",  # asks for the permission of the model that it is called for
    "view_on_site",
    "app_list",
    "catch_all",
}
FOR_VIEWERS = ("changelist", "change", "history", "simple_history")
# What a POST changes nothing by, whoever sends it: not asked whether it does.
POSTS_CHANGE_NOTHING = ("history", "redirect")


# -- What there is ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """One address pattern. `model` is None for pages of the site itself."""

    pattern: str
    name: str
    model: type[Model] | None

    @property
    def action(self) -> str:
        """What the page does: "change", "simple_history", "openapi_import" …"""
        own = f"{self.model._meta.app_label}_{self.model._meta.model_name}_" if self.model else ""
        return self.name.removeprefix(own)

    def __str__(self) -> str:
        return self.pattern


def pages() -> list[Page]:
    return list(_pages(get_resolver().url_patterns, "", None, inside=False))


def _pages(patterns: Sequence[Any], before: str, model: type[Model] | None, *, inside: bool) -> Iterator[Page]:
    prefixes = {f"{each._meta.app_label}/{each._meta.model_name}/": each for each in admin.site._registry}
    for each in patterns:
        here = str(each.pattern).removeprefix("^")
        if isinstance(each, URLResolver):
            if inside or (before + here).startswith(ROOT.lstrip("/")):
                yield from _pages(each.url_patterns, before + here, prefixes.get(here, model), inside=True)
        elif inside:
            assert isinstance(each, URLPattern)
            yield Page(before + here, each.name or ("redirect" if model else "catch_all"), model)


PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)|(\([^()]*\))")


def address(page: Page, values: Mapping[str, Any]) -> str:
    """The page's address. A pattern without names takes `object_id` and `version_id`, in this order."""
    unnamed = iter(("object_id", "version_id"))

    def filled(match: re.Match[str]) -> str:
        name = match[1] or match[2] or next(unnamed)
        assert name in values, f"Say what {name} is in {page}: add it to the values of the walk."
        return str(values[name])

    path = "/" + PARAMETER.sub(filled, page.pattern.replace("$", ""))
    assert resolve(path).route == page.pattern, f"{path} does not lead to {page}"
    return path


def actions() -> list[tuple["ModelAdmin[Any]", str, Callable[..., Any]]]:
    """Those of every registered class, whoever may use them."""
    return [
        (model_admin, name, function)
        for model_admin in admin.site._registry.values()
        if model_admin.actions is not None
        for function, name, _ in model_admin._get_base_actions()
    ]


# -- Rows -------------------------------------------------------------------------------------------


def sample(model: type[Model], **values: Any) -> Model:
    """A row: the first, or one of values that suit the fields."""
    row: Model | None = model._default_manager.first() if not values else None
    if row is None:
        needed = {each.name: _value(each) for each in model._meta.concrete_fields if _is_needed(each)}
        row = model._default_manager.create(**{**needed, **values})
    return row


def _is_needed(each: Any) -> bool:
    is_automatic = getattr(each, "auto_now", False) or getattr(each, "auto_now_add", False) or each.auto_created
    return not (is_automatic or each.null or each.blank or each.default is not NOT_PROVIDED)


def _value(each: "Field[Any, Any]") -> Any:
    if each.related_model is not None:
        assert not isinstance(each.related_model, str)
        return sample(each.related_model)
    if each.choices:
        return next(value for value, _ in each.flatchoices if value)
    match each:
        case DateTimeField():
            return timezone.now()
        case DateField():
            return timezone.localdate()
        case BooleanField():
            return False
        case IntegerField() | FloatField():
            return 1
        case JSONField():
            return {}
        case CharField() | TextField():
            return "walk"
    raise AssertionError(f"Say what a {type(each).__name__} holds: {each}")


def dump(tables: Container[str] | None = None) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables, or of these, that the admin could have changed. Not the sample account's rows, which it
    does not know, and not the audit trail, which says what was done."""
    models = [each for each in apps.get_models(include_auto_created=True) if each not in (Session, SecurityEvent)]
    known = [each for each in models if each in admin.site._registry or each._meta.app_label != "hostaway"]
    return {
        each._meta.db_table: list(each._base_manager.order_by("pk").values())
        for each in known
        if tables is None or each._meta.db_table in tables
    }


TABLE_WRITTEN = re.compile(r'(?:INSERT (?:OR \w+ )?INTO|UPDATE|DELETE FROM) "(\w+)"')


class Writes:
    """The statements that were not only reads, while it is entered."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._listening = connection.execute_wrapper(self._note)

    def _note(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.lstrip().upper().startswith(("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK", "WITH")):
            self.found.append(sql)
        return execute(sql, params, many, context)

    @property
    def tables(self) -> set[str]:
        found = [(sql, TABLE_WRITTEN.match(sql)) for sql in self.found]
        unread = [sql for sql, match in found if match is None]
        assert not unread, f"Say which tables these statements write: {unread}"
        return {match[1] for _, match in found if match}

    def __enter__(self) -> Self:
        self._listening.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._listening.__exit__(*raised)


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# -- Pages as they are shown ------------------------------------------------------------------------


@dataclass
class Form:
    is_post: bool
    id: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Shown(HTMLParser):
    """The forms and the links of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._form: Form | None = None
        self._choosing = self._writing = ""
        self.feed(html)

    @property
    def sending(self) -> list[Form]:
        """What can be sent, but for the button that logs out."""
        return [each for each in self.forms if each.is_post and each.id != "logout-form"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "form":
            self._form = Form(given.get("method", "").lower() == "post", given.get("id", ""))
            self.forms.append(self._form)
        elif self._form is not None:
            self._in_form(self._form, tag, given)

    def _in_form(self, form: Form, tag: str, given: dict[str, str]) -> None:
        name, kind = given.get("name", ""), given.get("type", "text")
        if (tag == "input" and kind in ("submit", "image")) or (tag == "button" and kind in ("submit", "text")):
            form.buttons.append((name, given.get("value", "")))
        elif tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in given) and kind != "file":
            form.values.setdefault(name, []).append(given.get("value", "on" if kind == "checkbox" else ""))
        elif tag == "select":
            self._choosing = name
        elif tag == "option" and self._choosing and "selected" in given:
            form.values.setdefault(self._choosing, []).append(given.get("value", ""))
        elif tag == "textarea":
            self._writing = name
            form.values.setdefault(name, [""])
        if "required" in given and name:
            form.required.append(name)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._choosing = ""
        elif tag == "textarea":
            self._writing = ""

    def handle_data(self, data: str) -> None:
        if self._form is not None and self._writing:
            self._form.values[self._writing][0] += data.removeprefix("\n")


def body_of(html: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """What the page's forms would send, with what is required filled in, and `more`."""
    body: dict[str, Any] = {}
    for form in Shown(html).sending:
        body.update(form.values)
        body.update({name: "walk2" for name in form.required if body.get(name, [""]) == [""]})
        named = [each for each in form.buttons if each[0]]
        body.update(dict([each for each in named if each[0] == "_save"] or named[:1]))
    return {**body, **more}


def is_html(response: Any) -> bool:
    return response.status_code == 200 and response.headers["Content-Type"].startswith("text/html")


def text_of(response: Any) -> str:
    return str(response.content.decode()) if is_html(response) else ""


def is_login(response: Any) -> bool:
    return response.status_code == 302 and response["Location"].startswith(f"{ROOT}login/")


def post(client: Client, path: str, body: Mapping[str, Any]) -> Any:
    for each in body.values():
        if hasattr(each, "seek"):
            each.seek(0)
    return client.post(path, dict(body))
