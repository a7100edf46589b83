"""Removes secrets from text that is quoted from a source tree.

A secret is recognised by the format of a provider's keys, by its randomness, or by the name that it is assigned to. The
rules for guests' texts (`redact_text`) are not used here: they would redact most code that works with passwords.
"""

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from functools import cache
from math import log2
from typing import Protocol

from context_protection.core.redaction import mark

_SHORTEST = 4  # characters of a value; hiding a shorter one would hide half of its line
_LONGEST_LINE = 2_000  # characters in which a name and its value are looked for

# What separates the lines of a key: line ends, also escaped ones, and quotes or other marks around the lines.
_BETWEEN = r"(?:\s|\\[nr]|[\"'`+>|#*,;-])"
_PRIVATE_KEY = re.compile(
    r"(?P<begin>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----)"
    rf"{_BETWEEN}{{0,20}}(?:[A-Z][A-Za-z-]{{1,20}}: [^\n\\]{{1,80}}{_BETWEEN}{{1,20}}){{0,9}}"
    rf"[A-Za-z0-9+/=]{{16,}}(?:{_BETWEEN}{{1,20}}[A-Za-z0-9+/=]{{16,}})*"
    rf"(?:{_BETWEEN}{{1,20}}[A-Za-z0-9+/]{{1,16}}={{0,2}}(?={_BETWEEN}{{1,20}}END))?"
)
_PART_OF_KEY = re.compile(  # a line of a private key whose first line is missing
    r"(?<![\w/=])(?=[A-Za-z0-9+/]{0,60}[a-z])(?=[A-Za-z0-9+/]{0,60}[A-Z])(?=[A-Za-z0-9+/]{0,60}\d)"
    r"[A-Za-z0-9+/]{60,}={0,2}(?![\w/=])"
)
# Formats that detect-secrets does not know, or matches with a slower pattern.
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|gl[a-z]{2,5}-[\w-]{20,}|AIza[\w-]{30,}|xox[a-z]-[\w-]{10,}"
    r"|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|dop_v1_\w{20,}|sk-[A-Za-z0-9]{20,}|django-insecure-[\w!@#$%^&*()=+-]{20,}"
    r"|(?:sk|rk|pk)[_-](?:live|test|ant|proj|svcacct)[_-][\w-]{10,}"
    r"|(?<!-)eyJ[\w=-]{8,4000}\.[\w=-]{8,4000}(?:\.[\w=-]{0,4000})?)"
)
_NAMES = (
    r"(?:secret|token|passw(?:or)?d|passphrase|pwd|credential"
    r"|(?:api|access|auth|account|client|service|private|encryption|db)[_.-]?(?:key|pass)"
    r"|(?:smtp|e?mail|mysql|pg|postgres|redis|ftp|ssh|user|admin|root)[_.-]pass\b)"
)
_HINTS = ("secret", "token", "pass", "pwd", "credential", "key", "bearer", "basic")
_NAMED = re.compile(_NAMES, re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"{_NAMES}[\w.-]{{0,40}}[\"'\]]{{0,2}}\s{{0,9}}(?:=>|[:=!]={{0,2}})\s{{0,9}}[\"'`]?"
    r"(?P<value>[\w+/=~.-]{12,})(?![\w(\[])",
    re.IGNORECASE,
)
_SETTING = re.compile(  # the whole line
    rf"[+\s-]{{0,40}}(?:export\s)?[\w.-]{{0,40}}{_NAMES}[\"']?\s?[:=]\s?(?P<value>[^\s\"'`,;()\[\]{{}}<>$]{{4,}})\s*(?:#.*)?",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[+\s-]{0,40}(?:export )?(?P<name>[A-Z0-9_]{1,60})=(?P<value>[^\s\"'`,;$(<{]{4,})\s*")
_ITS_QUOTES = (
    r"[\"'\]]{0,3}\s{0,9}(?:=>|[:=!]={0,2})\s{0,9}[@brfu]{0,2}([\"'`])(?P<value>(?:[^\s\"'`\\]|\\\S){4,200}\\?)\1"
)
_IN_QUOTES = re.compile(rf"{_NAMES}[\w.-]{{0,40}}{_ITS_QUOTES}", re.IGNORECASE)
# Often the name of a label, or of a step: only for random values, and for variables of an environment.
_PASS = re.compile(rf"(?:\b|(?<=[a-z])[_.-])pass{_ITS_QUOTES}", re.IGNORECASE)
_PASS_VARIABLE = re.compile(r"[A-Z0-9]_PASS$")
_IN_URL = re.compile(r"(?<=://)(?P<user>[^\s:/?#@]{0,100}):(?P<value>[^\s:/?#@]{1,200})(?=@)")
_HEADER = re.compile(r"(?i:\b(?:bearer|basic|token) )(?P<value>(?=\S{0,80}\d)[\w~+/.=-]{8,})")
_QUOTED = re.compile(
    r"(?<=[\"'`])(?=[\w/+-]{0,80}[a-z])(?=[\w/+-]{0,80}[A-Z])(?=[\w/+-]{0,80}\d)[\w/+-]{32,80}={0,2}(?=[\"'`])"
)
_ENTROPY = 4.5  # bits per character, above which a quoted text is random
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])(?!\d+\.|[A-Za-z_]\w*\.[A-Za-z_]|\w+:/)")
_LONG_AND_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[^{}<>\[\] ]{32,}")  # if its entropy is high, too
_LEAST_ENTROPY = 4.0  # bits per character; 32 random letters, digits and signs have at least 3.9, 50 have 4.4
_HIDDEN_EVERYWHERE = re.compile(r"(?=.*[^A-Za-z]).{7,}")  # a value that is hidden in all lines of the text
_MAY_BE_KEY = re.compile(r"(?=[^/\s]{0,200}\d)[^/\s]{16,}")
_MAY_SET = re.compile(rf"(?:{_NAMES}|pass|auth|bearer|BEGIN )[\w.'\"\]-]{{0,60}}\s{{0,9}}[=:>]", re.IGNORECASE)
_LONG_AND_MIXED = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{24,}")
_NAME = re.compile(r"[A-Za-z]+(?:[_.:/-][A-Za-z]+)*\d?")


class _Detector(Protocol):
    def analyze_string(self, string: str) -> Generator[str, None, None]: ...


class _Entropy(Protocol):
    def calculate_shannon_entropy(self, data: str) -> float: ...


def sanitized(text: str, known: Iterable[str] = ()) -> str:
    """The text with a mark such as `[withheld: key]` in place of each secret; the same text if there is none. `known`:
    further values to hide."""
    text = _PRIVATE_KEY.sub(rf"\g<begin>{mark('private key')}", text)
    text = _KEY.sub(mark("key"), _PART_OF_KEY.sub(mark("key"), text))
    text = _IN_URL.sub(_without_password, text)
    everywhere = {*known, *_by_form(text)}
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if _has_hint(line):
            values = set(_by_name(line[:_LONGEST_LINE]))
            lines[at] = _hidden(line, values)
            everywhere.update(filter(_HIDDEN_EVERYWHERE.fullmatch, values))
    return _hidden("\n".join(lines), everywhere)


def sanitized_name(name: str) -> str:
    """Like `sanitized`, for a name or a path. Quick if it cannot hold a key."""
    return sanitized(name) if _MAY_BE_KEY.search(name) else name


def assigned_in(lines: Iterable[str]) -> frozenset[str]:
    """The values, except plain words, that these lines assign to secret-like names. They must not be shown anywhere."""
    values = (each for line in lines if _has_hint(line) for each in _by_name(line[:_LONGEST_LINE]))
    return frozenset(filter(_HIDDEN_EVERYWHERE.fullmatch, values))


def may_set_secret(line: str) -> bool:
    """A quick check whether a line assigns any value, even a plain word, to a secret-like name. Such lines are not
    quoted."""
    return bool(_MAY_SET.search(line))


def may_be_key(word: str) -> bool:
    """A quick check whether a word has the format of a key."""
    return bool(_KEY.match(word) or _LONG_AND_MIXED.match(word))


def _has_hint(line: str) -> bool:
    """A quick check whether a line may name a secret."""
    low = line.lower()
    return any(hint in low for hint in _HINTS)


def _hidden(text: str, values: Iterable[str]) -> str:
    for value in sorted(values, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", mark("key"), text)
    return text


def _without_password(url: re.Match[str]) -> str:
    return f"{url['user']}:{mark('key')}" if _is_value(url["value"]) else url[0]


def _by_form(text: str) -> Iterator[str]:
    forms, entropy = _detectors()
    yield from (each for each in _QUOTED.findall(text) if entropy.calculate_shannon_entropy(each) > _ENTROPY)
    for detector in forms:
        for found in detector.analyze_string(text):
            value = found.strip(" \t\r\n=:\"'").removeprefix("AccountKey=")
            if len(value) >= _SHORTEST:
                yield value


def _by_name(line: str) -> Iterator[str]:
    assigned = (_SETTING.fullmatch(line), *_ASSIGNED.finditer(line), *_HEADER.finditer(line), *_PASS.finditer(line))
    values = [found["value"] for found in assigned if found and _RANDOM.match(found["value"])]
    variable = _VARIABLE.fullmatch(line)
    if variable and (_NAMED.search(variable["name"]) or _PASS_VARIABLE.search(variable["name"])):
        values.append(variable["value"])
    return filter(_is_value, (*values, *(found["value"] for found in _IN_QUOTES.finditer(line))))


def _is_value(text: str) -> bool:
    """Whether a text may be a secret. Source code also quotes mere names of secrets, in labels, messages, fields and
    calls. A key may have the signs of code, if it is long."""
    if len(text) < _SHORTEST or (any(each in text for each in "(){}<>[]$ ") and not _is_long_and_random(text)):
        return False
    return not (_NAME.fullmatch(text) and _NAMED.search(text))


def _is_long_and_random(text: str) -> bool:
    shares = (times / len(text) for times in Counter(text).values())
    return bool(_LONG_AND_RANDOM.fullmatch(text)) and -sum(each * log2(each) for each in shares) > _LEAST_ENTROPY


@cache
def _detectors() -> tuple[tuple[_Detector, ...], _Entropy]:
    """The detectors by format, and the one by randomness. They connect to no provider. They are imported when first
    used, because that takes a third of a second."""
    from detect_secrets.plugins import (
        artifactory,
        aws,
        azure_storage_key,
        cloudant,
        discord,
        high_entropy_strings,
        ibm_cloud_iam,
        ibm_cos_hmac,
        mailchimp,
        pypi_token,
        sendgrid,
        slack,
        softlayer,
        square_oauth,
        stripe,
        telegram_token,
        twilio,
    )

    forms = (
        artifactory.ArtifactoryDetector(),
        aws.AWSKeyDetector(),
        azure_storage_key.AzureStorageKeyDetector(),
        cloudant.CloudantDetector(),
        discord.DiscordBotTokenDetector(),
        ibm_cloud_iam.IbmCloudIamDetector(),
        ibm_cos_hmac.IbmCosHmacDetector(),
        mailchimp.MailchimpDetector(),
        pypi_token.PypiTokenDetector(),
        sendgrid.SendGridDetector(),
        slack.SlackDetector(),
        softlayer.SoftlayerDetector(),
        square_oauth.SquareOAuthDetector(),
        stripe.StripeDetector(),
        telegram_token.TelegramBotTokenDetector(),
        twilio.TwilioKeyDetector(),
    )
    return forms, high_entropy_strings.Base64HighEntropyString()
