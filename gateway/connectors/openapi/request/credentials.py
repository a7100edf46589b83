"""The authentication of an imported API: as its document requires it, in words, and as its connection stores it."""

from collections import Counter
from dataclasses import dataclass, field

from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.document.description import ApiDocument, Security
from gateway.upstreams.connections import AuthKind, secret_problem
from gateway.upstreams.models import UpstreamApi

SPELLED = "header:NAME, query:NAME, bearer or basic:USER"
_WITH_A_TOKEN = ("bearer", "authorizationCode", "password", "implicit", "openIdConnect")


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """`secret` is plain text here, until the connection encrypts it."""

    kind: AuthKind = AuthKind.NONE
    parameter_name: str = ""
    user_name: str = ""
    secret: str = field(default="", repr=False)

    @property
    def are_entered(self) -> bool:
        return bool(self.secret) or (self.kind is AuthKind.BASIC and bool(self.user_name))

    @property
    def how(self) -> dict[str, str]:
        """The way in which the secret is sent, by the names of the connection's fields; empty if none is sent."""
        if self.kind is AuthKind.NONE:
            return {}
        found = {"authentication": self.kind.value, "parameter_name": self.parameter_name, "user_name": self.user_name}
        return {name: value for name, value in found.items() if value}


def asked_for(document: ApiDocument) -> Security | None:
    """The security scheme that most operations name, preferably one that Sluice can send. None if there is no
    scheme."""
    times = Counter(names[0] for each in document.operations for names in each.security if len(names) == 1)
    schemes = sorted(document.securities, key=lambda scheme: (_kind(scheme) is None, -times[scheme.name]))
    return next(iter(schemes), None)


def proposed(document: ApiDocument) -> Credentials:
    """The initial values of a form. Schemes that need more than a key, a token or a password are set up on the
    connection."""
    scheme = asked_for(document)
    kind = _kind(scheme) if scheme else None
    if scheme is None or kind is None or kind is AuthKind.CLIENT_CREDENTIALS:
        return Credentials()
    return Credentials(
        kind=kind,
        parameter_name=scheme.parameter if kind in (AuthKind.HEADER, AuthKind.QUERY) else "",
    )


def in_words(document: ApiDocument) -> str:
    """The authentication that the document requires, as a sentence."""
    scheme = asked_for(document)
    return (
        f"The document asks for {_scheme_in_words(scheme)}."
        if scheme
        else "The document does not say how callers authenticate."
    )


def spelled(text: str) -> Credentials:
    """Parses "header:X-API-Key", "query:api_key", "bearer" or "basic:USER", without the secret. Raises
    InvalidArgument."""
    word, _, rest = text.partition(":")
    match word.lower(), rest.strip():
        case ("header" | "query") as kind, name if name:
            return Credentials(kind=AuthKind(kind), parameter_name=name)
        case "bearer", "":
            return Credentials(kind=AuthKind.BEARER)
        case "basic", user:
            return Credentials(kind=AuthKind.BASIC, user_name=user)
    raise InvalidArgument(
        f"{text[:60]!r} is not a known kind of authentication.",
        reason="unknown_authentication",
        parameter="auth",
        value=text,
        expected=SPELLED,
        suggestion=f"Expected {SPELLED}.",
    )


def enter(upstream: UpstreamApi, credentials: Credentials) -> None:
    """Sets the credentials on the row, encrypted, but does not save it. Raises InvalidArgument for a secret that cannot
    be sent."""
    if problem := secret_problem(credentials.kind, credentials.user_name, credentials.secret):
        raise InvalidArgument(problem, reason="secret_problem", parameter="secret")
    upstream.authentication = credentials.kind.value
    upstream.parameter_name, upstream.user_name = credentials.parameter_name, credentials.user_name
    if credentials.secret:
        upstream.set_secret(credentials.secret)


def _kind(scheme: Security) -> AuthKind | None:
    """The scheme's kind of authentication; None if connections cannot send it."""
    match scheme.kind, scheme.location:
        case "apiKey", "header" | "query":
            return AuthKind(scheme.location)
        case "basic", _:
            return AuthKind.BASIC
        case "clientCredentials", _:
            return AuthKind.CLIENT_CREDENTIALS
        case kind, _ if kind in _WITH_A_TOKEN:
            return AuthKind.BEARER
    return None


def _scheme_in_words(scheme: Security) -> str:
    match scheme.kind, scheme.location:
        case "apiKey", "header":
            return f"an API key in the header {scheme.parameter}"
        case "apiKey", "query":
            return f"an API key in the query parameter {scheme.parameter}"
        case "apiKey", "cookie":
            return f"a key in the cookie {scheme.parameter}, which Sluice cannot send"
        case "basic", _:
            return "a user name and a password"
        case "bearer", _:
            return "a bearer token"
        case "clientCredentials", _:
            return "OAuth 2.0 client credentials, which are entered at the connection after the import"
        case (("authorizationCode" | "password" | "implicit" | "openIdConnect"), _):
            return "an OAuth 2.0 token: if you have one, it is sent as a bearer token"
    return f"{scheme.kind}, which Sluice cannot send"
