"""Secrets in source: hidden by their form or by their name; what only looks like one stays readable."""

from random import Random
from time import process_time

import pytest

from gateway.connectors.codebase.secrets import sanitized

# Written in two parts, so that no scanner takes this file for a leak.
KEY_BODY = "MIIEowIBAAKCAQEAx7Gd2Zk0yVt9Qk8sBnQ0mJfXw3Lr5uH6TqzPpYv4CeNaSdFg"
FORMS = {
    "AWS id": "AKIA" + "IOSFODNN7EXAMPLQ",
    "AWS secret": "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEQ",
    "GitHub": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "GitHub, fine-grained": "github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123",
    "GitLab": "glpat-" + "aB3dE5gH7jK9mN1pQ2rS",
    "Slack": "xoxb-" + "123456789012-123456789012-aBcDeFgHiJkLmNoPqRsTuVwX",
    "Stripe": "sk_live_" + "a1B2c3D4e5F6g7H8i9J0k1L2",
    "Anthropic": "sk-ant-" + "api03-aBcDeFgHiJkLmNoP",
    "OpenAI": "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2",
    "Google": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7",
    "npm": "npm_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "SendGrid": "SG." + "aB3dE5gH7jK9mN1pQ2rS4t.aB3dE5gH7jK9mN1pQ2rS4tUvWxYz0123456789AbCdE",
    "Twilio": "AC" + "0123456789abcdef0123456789abcdef",
    "Django": "django-" + "insecure-(k7$m@x!2vq^r)n9w&c*z4b_j+h=t5d-l8p#s1f%g6y(e3",
    "JWT": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}
LINES = ("{}", 'x = "{}"', "+export SOME={}", "- `{}` in a list", "see https://example.org/?q={}&x=1")


@pytest.mark.parametrize("form", sorted(FORMS.keys() - {"AWS secret"}))
@pytest.mark.parametrize("line", LINES)
def test_a_key_is_seen_by_its_form(form: str, line: str) -> None:
    text = sanitized(f"before\n{line.format(FORMS[form])}\nafter")
    assert FORMS[form] not in text
    assert "[withheld: " in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter")


def test_a_random_value_needs_no_name() -> None:
    assert FORMS["AWS secret"] not in sanitized(f"store('{FORMS['AWS secret']}')")


NAMED = (
    "password: {}",
    'password = "{}"',
    "DB_PASSWORD={}",
    "aws_secret_access_key = {}",
    '"clientSecret": "{}",',
    "api.key={}",
    "export SLUICE_API_TOKEN={}",
    "auth_token := '{}'",
    'if token == "{}":',
    "Authorization: Bearer {}",
    "passphrase: {}  # of the store",
    "SMTP_PASS={}",
    "mail.pass = '{}'",
)


@pytest.mark.parametrize("line", NAMED)
@pytest.mark.parametrize("value", [FORMS["AWS secret"], "hunter2x9hunter2x9"])
def test_a_value_is_seen_by_its_name_and_hidden_wherever_it_stands(line: str, value: str) -> None:
    text = sanitized(f"{line.format(value)}\nlogin({value!r})")
    assert value not in text
    assert text.count("[withheld: ") == 2


@pytest.mark.parametrize("seed", range(50))
def test_a_key_with_the_signs_of_code_is_hidden_whole(seed: int) -> None:
    """The keys that Django generates."""
    key = "".join(Random(seed).choices("abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)", k=50))
    assert sanitized(f"SECRET_KEY = '{key}'\nother = 1") == "SECRET_KEY = '[withheld: key]'\nother = 1"
    assert sanitized(f"env('KEY', 'django-insecure-{key}')") == "env('KEY', '[withheld: key]')"


def test_a_value_with_an_escaped_quote_is_hidden_whole() -> None:
    assert sanitized(r'password="abc\"def12345"') == 'password="[withheld: key]"'


def test_a_value_may_end_in_a_backslash() -> None:
    assert sanitized(r"PASSWORD='hunter2!x9\'") == "PASSWORD='[withheld: key]'"


@pytest.mark.parametrize("name", ["MYSQL_PASS=", "auth: { pass: ", '"pass": '])
def test_a_pass_is_a_password(name: str) -> None:
    assert sanitized(f"{name}'abc12345'") == f"{name}'[withheld: key]'"


def test_the_password_of_an_address_is_hidden() -> None:
    assert sanitized("redis://:s3cr@h/0 amqp://guest:guest@h") == (
        "redis://:[withheld: key]@h/0 amqp://guest:[withheld: key]@h"
    )


@pytest.mark.parametrize("line", ['password = "{}"', "DB_PASSWORD={}", "'secret': '{}',", "export API_KEY={}"])
def test_a_word_can_be_a_password_where_it_is_assigned(line: str) -> None:
    assert "swordfish" not in sanitized(line.format("swordfish"))
    assert sanitized(f"{line.format('swordfish')}\nswordfish()").endswith("\nswordfish()")


@pytest.mark.parametrize("between", ["\n", "\\n", '"\n    "', "\n+", "\r\n"])
@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----", ""])
def test_a_private_key_is_hidden_whole(between: str, end: str) -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", KEY_BODY, KEY_BODY[::-1], "QmFzZTY0cyBlbmQ6", "YQ==", end]
    text = sanitized(f"a = 1\n{between.join(lines)}\nother = 2")
    assert not any(part in text for part in (KEY_BODY, KEY_BODY[::-1], "QmFzZTY0cyBlbmQ6"))
    assert ("YQ==" in text) is not bool(end)
    assert text.startswith("a = 1\n-----BEGIN RSA PRIVATE KEY-----[withheld: private key]")
    assert text.endswith("\nother = 2")


def test_a_part_of_a_private_key_is_hidden_without_its_begin() -> None:
    assert KEY_BODY not in sanitized(f"+{KEY_BODY}\n+x = 1")


@pytest.mark.parametrize(
    "line",
    [
        "password = get_password(store, 1)",
        "token = config.Token2Value.of(user)",
        "secret = os.environ['CLIENT_SECRET_1']",
        'help = "Enter your password, please"',
        'PASSWORD_FIELD = "password_field"',
        "api_key: ${API_KEY_2}",
        "def reset_password(self, token: str) -> None:",
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        'digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
        "postgres://postgres@127.0.0.1:5432/db",
        "token_url = f'http://127.0.0.1:{server.server_port}/$(path)/token'",
        'labels = {"pass": "element"}',
        "first_pass = parse(lines, 1)",
        'render_pass = "shadow-map"',
        'proxy_pass: "http://127.0.0.1:9000"',
        "fastcgi_pass: unix:/run/php/php7.4-fpm.sock",
        "token = r'(?P<token>[0-9A-Za-z]{1,13}-[0-9A-Za-z]{1,20})'",
        "token=base64.b64encode(os.urandom(32)).decode()",
        'run("testThatAUserCanLogIn2TimesInARowWithoutError")',
        "password1, password2 = new_password1, old_password2",
        'fields["password1"].required = clean(password_field_name="password1")',
        "        secret=secret,",
        "redis://user:password@host and amqp://u:{self.password}@h",
        "Passwords are hashed with argon2 or PBKDF2, 20000 times",
        "tokens = count_tokens(text) + 1000 * 2",
        'if b"-----BEGIN RSA PRIVATE KEY-----" in content:',
        "from context_protection.core.tokens.claude import count",
    ],
)
def test_source_without_secrets_stays_as_it_is(line: str) -> None:
    text = f"{line}\nother = 1"
    assert sanitized(text) == text


def test_what_is_sanitized_stays_so() -> None:
    once = sanitized("\n".join(FORMS.values()) + "\npassword: hunter2x9\n")
    assert sanitized(once) == once


@pytest.mark.parametrize(
    "unit", ["eyJ-", "sk-", "password=", "://a:", "A", "-----BEGIN PRIVATE KEY-----", "token: x9 "]
)
def test_no_text_takes_long(unit: str) -> None:
    before = process_time()
    sanitized(unit * (100_000 // len(unit)))
    assert process_time() - before < 5
