"""Redacts secrets (door codes, Wi-Fi passwords, PINs, keys, tokens) in fields, name/value pairs and texts.

Plain Python, no Django. A redacted value is replaced by its kind: `[withheld: door code]`.
"""

from context_protection.core.redaction.findings import Finding, mark
from context_protection.core.redaction.json_values import redact
from context_protection.core.redaction.names import is_secret, kinds_of_path, path_kind, secret_kind
from context_protection.core.redaction.objects import may_name_secret
from context_protection.core.redaction.prose import REACH, redact_text
from context_protection.core.redaction.visibility import POLICY, STANDARD, Visibility

__all__ = [
    "POLICY",
    "REACH",
    "STANDARD",
    "Finding",
    "Visibility",
    "is_secret",
    "kinds_of_path",
    "mark",
    "may_name_secret",
    "path_kind",
    "redact",
    "redact_text",
    "secret_kind",
]
