"""Environment variables, read strictly: an empty variable counts as unset, and an invalid value is rejected by name."""

import os
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

SWITCHES = {
    **dict.fromkeys(("1", "true", "yes", "on", "y", "t"), True),
    **dict.fromkeys(("0", "false", "no", "off", "n", "f"), False),
}
LEAST_SECRET = 32  # characters
LEAST_DIFFERENT = 16  # different characters among them
KINDS = {int: "a whole number", float: "a number", bool: "true or false"}


class Environment(environ.Env):  # type: ignore[misc]
    """Raises ImproperlyConfigured for a value of the wrong type: a misspelt switch does not count as off. A list is
    separated by commas; spaces around its values and empty values are left out."""

    def get_value(self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, **more: Any) -> Any:
        text = os.environ.get(var, "")
        if not text and default is not self.NOTSET:
            return default
        if cast is bool and text.lower() not in SWITCHES:
            raise _invalid(var, text, bool)
        try:
            value = super().get_value(var, cast=cast, default=default, **more)
        except ValueError:
            raise _invalid(var, text, cast) from None
        return [each.strip() for each in value if each.strip()] if cast is list else value


def _invalid(name: str, text: str, kind: Any) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} is {text!r}; expected {KINDS.get(kind, 'a valid value')}.")


def check_secret_key(key: str) -> None:
    """Raises ImproperlyConfigured for a key that could be guessed: with the key, sessions and cursors can be forged."""
    different = len(set(key))
    if len(key) < LEAST_SECRET or different < LEAST_DIFFERENT:
        raise ImproperlyConfigured(
            f"SECRET_KEY has {len(key)} characters, {different} of them different; expected at least {LEAST_SECRET}, "
            f"{LEAST_DIFFERENT} of them different: put the former key into SECRET_KEY_FALLBACKS and set a new one, "
            "made with: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"
        )
