"""The settings of the policy as .env.example and docs/operators.md list them. `make docs` writes both."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

from context_protection.core.policy import SETTINGS
from context_protection.core.setting import Setting, SettingGroup

ROOT = Path(__file__).parent.parent
WIDTH, COLUMN = 126, 36  # characters of a line, and before a comment
# The line above each list. A list ends at an empty line.
IN_ENVIRONMENT = "# -- Token budgets (the admin's budgets go before these)\n"
IN_OPERATORS = "| setting | default | values | what it does |\n|---|---|---|---|\n"


def in_groups() -> Iterator[Setting]:
    for group in SettingGroup:
        yield from (setting for setting in SETTINGS.values() if setting.group is group)


def default_of(setting: Setting) -> str:
    others = [f"{kind}s {setting.shown(value)}" for kind, value in setting.by_kind.items()]
    return "; ".join([setting.shown(setting.default), *others])


def row(setting: Setting) -> str:
    """A setting's row in docs/operators.md."""
    others = [each for each in setting.spellings if each not in (setting.canonical_name, setting.name)]
    limit = " Set for one operation only." if setting.one_operation_only else ""
    limit += " Set for all operations, a connector or a caller." if setting.whole_connectors_only else ""
    limit += f" In a file also {', '.join(f'`{each}`' for each in others)}." if others else ""
    return f"| {setting.canonical_name} | {default_of(setting)} | {setting.expected} | {setting.help}{limit} |\n"


def variable(setting: Setting) -> str:
    """A setting's lines in .env.example."""
    value = str(setting.default).lower() if isinstance(setting.default, bool) else str(setting.default or "")
    others = f" Unset: {default_of(setting)}." if setting.by_kind else ""
    values = "" if setting.value_type is bool else f"{setting.expected}. "
    first, *more = textwrap.wrap(f"{values}{setting.help}{others}", WIDTH - COLUMN - 2)
    return "".join(
        f"{text.ljust(COLUMN)}# {comment}\n"
        for text, comment in [(f"#{setting.variable}={value}", first), *(("#", comment) for comment in more)]
    )


def pages() -> dict[Path, str]:
    """The text that each file should have."""
    variables = "".join(variable(each) for each in in_groups() if each.variable)
    return {
        path: _replaced(path.read_text(), above, body)
        for path, above, body in (
            (ROOT / ".env.example", IN_ENVIRONMENT, variables),
            (ROOT / "docs/operators.md", IN_OPERATORS, "".join(map(row, in_groups()))),
        )
    }


def _replaced(text: str, above: str, body: str) -> str:
    head, found, rest = text.partition(above)
    assert found, f"the line {above!r} is missing"
    return head + above + body + rest[rest.index("\n\n") + 1 :]


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
