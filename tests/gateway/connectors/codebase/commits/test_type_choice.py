"""Types and scopes, from a diff alone and with a project's past."""

import pytest

from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.commits.type_choice import type_chances, type_of
from gateway.connectors.codebase.commits.type_evidence import evidence_of
from gateway.connectors.codebase.commits.type_weights import SHARES, TYPES, WEIGHTS
from gateway.connectors.codebase.git.history import PastCommit
from tests.gateway.connectors.codebase.commits.test_facts import changed


def earlier(subject: str, paths: tuple[str, ...], *, merge: bool = False) -> PastCommit:
    return PastCommit(id="", time=0, subject=subject, body="", paths=paths, merge=merge)


PAST = Habits(
    [
        earlier("chore(site): words", ("site/page.md", "site/index.md")),
        earlier("feat(core): thing", ("core/thing.py",)),
        earlier("fix: typing", ("lib/typing.py",)),
        earlier("Merge branch", ("site/page.md",), merge=True),
        earlier("no type at all", ("site/page.md",)),
    ]
    * 30
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("README.md", "docs"), ("tests/test_a.py", "test"), (".github/workflows/ci.yml", "ci")],
)
def test_paths_of_one_kind_decide(path: str, expected: str) -> None:
    assert type_of(changed({path: ("one line\n", "another line\n")})) == expected


def test_a_new_module_is_a_feature_and_a_condition_a_fix() -> None:
    body = "".join(f"def part{each}(a):\n    return a\n\n" for each in range(12))
    assert type_of(changed({"src/parts.py": ("", body), "docs/parts.md": ("a\n", "b\n")})) == "feat"
    assert (
        type_of(changed({"src/parts.py": ("def a(b):\n    c\n", "def a(b):\n    if b is None:\n        c\n")})) == "fix"
    )


def test_the_projects_own_habit_decides_over_the_general_one() -> None:
    facts = changed({"site/page.md": ("one\n", "two\n")})
    assert type_of(facts) == "docs"
    assert type_of(facts, PAST) == "chore"
    assert type_of(facts, Habits([])) == "docs"


def test_a_scope_is_given_where_the_authors_give_one() -> None:
    assert PAST.scope_of(["core/other.py"]) == "core"
    assert PAST.scope_of(["site/new.md"]) == "site"
    assert PAST.scope_of(["lib/other.py"]) is None
    assert Habits([]).scope_of(["core/other.py"]) is None


def test_the_weights_fit_the_evidence() -> None:
    assert all(len(weights) == len(TYPES) for weights in WEIGHTS.values())
    assert sum(SHARES) == pytest.approx(1, abs=0.01)
    facts = changed({"src/a.py": ("", "def a():\n    pass\n"), "docs/a.md": ("a\n", "b\n")})
    assert set(evidence_of(facts)) & set(WEIGHTS)
    assert sum(type_chances(facts).values()) == pytest.approx(1)
