"""Environment variables, read strictly: an empty variable counts as unset, and an invalid value is rejected by name."""

import os
from collections.abc import Collection
from io import StringIO
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

if TYPE_CHECKING:
    from dotenv.parser import Binding

SWITCHES = {
    **dict.fromkeys(("1", "true", "yes", "on", "y", "t"), True),
    **dict.fromkeys(("0", "false", "no", "off", "n", "f"), False),
}
LEAST_SECRET = 32  # characters
LEAST_DIFFERENT = 16  # different characters among them
WEB = ("http", "https")
REDIS = ("redis", "rediss", "unix")
DATABASES = ("sqlite", "postgres", "postgresql", "pgsql", "psql", "postgis")
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
MOST = 1_000_000_000
KINDS = {int: "a whole number", float: "a number", bool: "true or false"}


class Environment(environ.Env):  # type: ignore[misc]
    """Raises ImproperlyConfigured for a value of the wrong type: a misspelt switch does not count as off. A list is
    separated by commas; spaces around its values and empty values are left out."""

    def get_value(self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, **more: Any) -> Any:
        text = os.environ.get(var, "")
        if not text:
            return default if default is not self.NOTSET else super().get_value(var, cast=cast, **more)
        if cast is bool and text.lower() not in SWITCHES:
            raise _invalid(var, text, bool)
        try:
            # Not the library's get_value, which takes a text such as "$ecret" for the name of another variable.
            value = self.parse_value(text, cast)
        except ValueError:
            raise _invalid(var, text, cast) from None
        return [each.strip() for each in value if each.strip()] if cast is list else value

    def read_file(self, path: Path) -> None:
        """Reads a file like .env.example, if there is one. Variables that are set already stay. Raises
        ImproperlyConfigured, without the text of a wrong line, which may be a secret."""
        try:
            text = path.read_text("utf-8-sig")
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{path} cannot be read as UTF-8 text ({type(error).__name__}).") from None
        from dotenv.parser import parse_stream  # 0.6 MB, which a process without the file does not need

        for binding in parse_stream(StringIO(text)):
            if binding.error or (binding.key and (binding.value is None or not binding.key.isidentifier())):
                raise ImproperlyConfigured(f"{path}, line {_line_of(binding)}: expected {_BINDING}.")
            if binding.key and binding.value is not None:
                self.ENVIRON.setdefault(binding.key, binding.value)

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """One of the choices, as they are spelt there. Capital and small letters are the same."""
        text = self.str(name, default=default)
        for choice in choices:
            if choice.lower() == text.strip().lower():
                return choice
        raise ImproperlyConfigured(f"{name} is {text!r}; expected one of: {', '.join(choices)}.")

    def address(self, name: str, schemes: Collection[str], *, default: str = "", example: str) -> str:
        """A URL. The message does not quote a wrong one, which may have a password."""
        text: str = self.str(name, default=default)
        if text and not _is_address(text, schemes):
            raise _not_address(name, example)
        return text

    def hosts(self, name: str, *, default: list[str]) -> list[str]:
        """Names or addresses of hosts. One with a scheme or a port would match no request."""
        found: list[str] = self.list(name, default=default)
        for each in found:
            if "/" in each or (":" in each and not each.endswith("]")):
                raise ImproperlyConfigured(f"{name} has {each!r}; expected hosts alone, such as sluice.example.com.")
        return found

    def origins(self, name: str) -> list[str]:
        """Origins as browsers send them. One with a path would match none."""
        found: list[str] = self.list(name, default=[])
        for each in found:
            if not _is_address(each, WEB) or urlsplit(each).path:
                raise ImproperlyConfigured(
                    f"{name} has {each!r}; expected origins, such as https://sluice.example.com."
                )
        return found

    def proxies(self, name: str, *, default: list[str]) -> list[str]:
        """Addresses or networks of proxies; `*` is any. Uvicorn would take another value for the name of a socket."""
        found: list[str] = self.list(name, default=default)
        for each in found:
            if each != "*" and not _is_network(each):
                raise ImproperlyConfigured(
                    f"{name} has {each!r}; expected addresses or networks, such as 127.0.0.1 or 10.0.0.0/8, or *."
                )
        return found

    def emails(self, name: str) -> list[str]:
        found: list[str] = self.list(name, default=[])
        for each in found:
            try:
                validate_email(each)
            except ValidationError:
                raise ImproperlyConfigured(
                    f"{name} has {each!r}; expected email addresses, such as ops@example.com, separated by commas."
                ) from None
        return found

    def certificates(self, name: str) -> str:
        """The path of a PEM file. Python ignores one that it cannot read, and then rejects servers that need it."""
        text: str = self.str(name, default="")
        try:
            is_usable = not text or b"-----BEGIN" in Path(text).read_bytes()
        except (OSError, ValueError):
            is_usable = False
        if not is_usable:
            raise ImproperlyConfigured(
                f"{name} is {text!r}; expected the path of a readable file of certificates (PEM)."
            )
        return text

    def whole(self, name: str, unit: str, *, default: int, least: int = 0, most: int = MOST) -> int:
        """A whole number within its bounds."""
        return int(self._within(name, unit, self.int(name, default=default), least, most))

    def share(self, name: str, *, default: float) -> float:
        """A number from 0 to 1."""
        return self._within(name, "", self.float(name, default=default), 0, 1)

    def _within(self, name: str, unit: str, value: float, least: int, most: int) -> float:
        if least <= value <= most:
            return value
        raise ImproperlyConfigured(f"{name} is {value}; expected {least} to {most:,}{unit and f' {unit}'}.")

    def database(self, name: str, text: str) -> dict[str, Any]:
        """Django's settings of the database, SQLite or Postgres, to which the variable's text leads."""
        if text.partition("://")[0] not in DATABASES:
            raise _not_address(name, _DATABASE)
        try:
            return dict(self.db_url_config(text))
        except ValueError:
            raise _not_address(name, _DATABASE) from None


_BINDING = "NAME=value, with a quote at both ends of the value or at none, or a comment that begins with #"


def _line_of(binding: "Binding") -> int:
    """The line of its name. The library's number is of the first empty line before it."""
    text = binding.original.string
    return binding.original.line + text[: len(text) - len(text.lstrip())].count("\n")


_DATABASE = "postgres://user:password@host:5432/name, or sqlite:////a/path"


def _is_address(text: str, schemes: Collection[str]) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises ValueError if it is no number
    except ValueError:
        return False
    is_reachable = parts.scheme not in WEB or (bool(parts.hostname) and "@" not in parts.netloc)
    return "://" in text and parts.scheme in schemes and is_reachable


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _not_address(name: str, example: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} is no address that can be used; expected {example}.")


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
