"""Forms that check a password or a code."""

from typing import Any

from django import forms
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from gateway.logins import events, throttle


class OwnPasswordForm(AdminPasswordChangeForm):
    """Wrong old passwords count as failed logins. Raises LockedOut."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        attempt = throttle.begin(self.user.get_username(), self.request)
        try:
            old: str = super().clean_old_password()
        except ValidationError:
            attempt.failed()
            raise
        attempt.succeeded()
        return old

    def save(self, commit: bool = True) -> Any:
        user = super().save(commit)
        events.note(events.SecurityEventKind.PASSWORD_CHANGED, user, self.request)
        return user


class CodeForm(forms.Form):
    """A code from an app, or a recovery code. Either is accepted; `is_recovery` chooses the label and the phone's
    keyboard."""

    code = forms.CharField(max_length=40, strip=True)

    def __init__(self, *args: Any, is_recovery: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix, self.is_recovery = "", is_recovery
        code = self.fields["code"]
        code.label = "Recovery code" if is_recovery else "Code from your app"
        code.widget.attrs |= {"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "characters"}
        if not is_recovery:
            code.widget.attrs |= {"inputmode": "numeric"}
