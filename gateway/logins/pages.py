"""Login and second-factor pages. site.py decides who may open them."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import login
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from gateway.logins import events, second_factor, second_step, setup, throttle
from gateway.logins.forms import CodeForm
from gateway.logins.models import SecondFactor
from gateway.logins.second_factor import Proof
from gateway.upstreams.auth.vault import CredentialLost

WRONG_CODE = "This code is wrong, has expired, or was used already. Wait until the app shows the next one."
WRONG_RECOVERY_CODE = "This is not one of your recovery codes, or it was already used."
LOST = "The stored secret can no longer be opened. Use a recovery code, or ask a superuser to reset your second factor."
TITLE = "Two-factor authentication"
FEW_CODES = 3


class LoginPage(LoginView):
    next_page = "admin:index"

    def form_valid(self, form: Any) -> HttpResponse:
        """Called when the password is right. A user with a second factor is logged in only after proving it."""
        if second_factor.of(form.get_user()) is None:
            return super().form_valid(form)
        second_step.begin(self.request, form.get_user(), self.get_success_url())
        return HttpResponseRedirect(reverse("admin:login_code"))


def code_page(request: HttpRequest) -> HttpResponse:
    """The second step of a login. Raises LockedOut."""
    pending = second_step.waiting(request)
    if pending is None:
        return HttpResponseRedirect(reverse("admin:login"))
    is_recovery = "recovery" in request.GET
    form = CodeForm(request.POST or None, is_recovery=is_recovery)
    form.fields["code"].widget.attrs["autofocus"] = True
    if form.is_valid():
        proof = _proved(request, pending.user, pending.factor, form)
        if proof is not None:
            second_step.end(request)
            login(request, pending.user)
            second_factor.remember(request, pending.factor)
            if proof is Proof.RECOVERY_CODE:
                _warn_of_few_codes(request, pending.factor)
            return HttpResponseRedirect(pending.next)
    return _page(request, "login_code", title="Enter your code", form=form, is_recovery=is_recovery)


def _proved(request: HttpRequest, user: Any, factor: SecondFactor, form: CodeForm) -> Proof | None:
    """The proof; None if the code is wrong or cannot be checked, which adds an error to the form. Raises LockedOut."""
    attempt = throttle.begin(user.get_username(), request)
    try:
        proof = second_factor.prove(factor, form.cleaned_data["code"])
    except CredentialLost:
        form.add_error("code", LOST)
        return None
    if proof is None:
        attempt.failed(events.SecurityEventKind.SECOND_FACTOR_FAILED)
        form.add_error("code", WRONG_RECOVERY_CODE if form.is_recovery else WRONG_CODE)
        return None
    attempt.succeeded()
    if proof is Proof.RECOVERY_CODE:
        events.note(events.SecurityEventKind.RECOVERY_CODE_USED, user, request)
    return proof


def _warn_of_few_codes(request: HttpRequest, factor: SecondFactor) -> None:
    left = factor.recovery_codes.count()
    show = messages.warning if left <= FEW_CODES else messages.info
    codes = "1 recovery code is" if left == 1 else f"{left} recovery codes are"
    show(request, f"{codes} left. Under “Two-factor authentication” you can make new ones.")


# -- The user's own page -----------------------------------------------------------------------------------


def second_factor_page(request: HttpRequest) -> HttpResponse:
    """Switches the second factor on or off, and renews its recovery codes. Raises LockedOut."""
    factor = second_factor.of(request.user)
    if factor is None:
        return _setup_page(request)
    is_sent = request.method == "POST" and request.POST.get("do") in ("renew", "off")
    form = CodeForm(request.POST if is_sent else None)
    if form.is_valid() and _proved(request, request.user, factor, form) is not None:
        return (_switched_off if request.POST["do"] == "off" else _renewed)(request, factor)
    left = factor.recovery_codes.count()
    return _page(request, "second_factor", title=TITLE, form=form, factor=factor, codes_left=left)


def _setup_page(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    is_sent = request.method == "POST" and "setup" in request.POST
    offered = request.POST["setup"] if is_sent else setup.offer(user.pk)
    secret = setup.opened(offered, user.pk)
    if secret is None:
        messages.warning(request, "That QR code is an hour old. Scan this one.")
        return HttpResponseRedirect(reverse("admin:second_factor"))
    form = CodeForm(request.POST if is_sent else None)
    if form.is_valid():
        switched = second_factor.switch_on(user, secret, "".join(form.cleaned_data["code"].split()))
        if switched is not None:
            factor, codes = switched
            events.note(events.SecurityEventKind.SECOND_FACTOR_ON, user, request)
            request.session.cycle_key()
            second_factor.remember(request, factor)
            return _codes_page(request, codes)
        form.add_error("code", "This code is not the one that the app shows now. Is the phone's clock right?")
    shown = {"qr_code": setup.qr_code(secret, user.get_username()), "secret": setup.in_groups(secret)}
    return _page(request, "second_factor_setup", title=TITLE, form=form, setup=offered, next=_next(request), **shown)


def _renewed(request: HttpRequest, factor: SecondFactor) -> HttpResponse:
    codes = second_factor.renew_codes(factor)
    events.note(events.SecurityEventKind.RECOVERY_CODES_RENEWED, request.user, request)
    return _codes_page(request, codes)


def _switched_off(request: HttpRequest, factor: SecondFactor) -> HttpResponse:
    factor.delete()
    events.note(events.SecurityEventKind.SECOND_FACTOR_OFF, request.user, request)
    messages.success(request, "The second factor is switched off.")
    return HttpResponseRedirect(reverse("admin:second_factor"))


def _codes_page(request: HttpRequest, codes: list[str]) -> HttpResponse:
    as_text = "".join(f"{code}\n" for code in codes)
    return _page(request, "recovery_codes", title="Recovery codes", codes=codes, as_text=as_text, next=_next(request))


def _page(request: HttpRequest, name: str, **context: Any) -> HttpResponse:
    return render(request, f"admin/{name}.html", {**admin.site.each_context(request), **context})


def _next(request: HttpRequest) -> str:
    """The next page: the requested URL if it is on this host, else the admin index."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_ours else reverse("admin:index")
