"""Types and scopes, from a diff alone and with a project's past."""

import pytest

from gateway.connectors.codebase.commits.facts import ChangeFacts
from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.commits.type_choice import type_chances, type_of
from gateway.connectors.codebase.commits.type_evidence import evidence_of
from gateway.connectors.codebase.commits.type_weights import TYPES, WEIGHTS
from gateway.connectors.codebase.git.past_commit import PastCommit
from tests.gateway.connectors.codebase.commits.test_facts import changed


def earlier(subject: str, paths: tuple[str, ...], *, merge: bool = False, by_bot: bool = False) -> PastCommit:
    return PastCommit(id="", time=0, subject=subject, body="", paths=paths, merge=merge, by_bot=by_bot)


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
    assert type_of(changed({"src/parts.py": ("", body), "docs/parts.md": ("", "a\nb\nc\n")})) == "feat"
    assert (
        type_of(changed({"src/parts.py": ("def a(b):\n    c\n", "def a(b):\n    if b is None:\n        c\n")})) == "fix"
    )


def with_note(path: str, new: str, old: str = "") -> ChangeFacts:
    """A change of a condition, such as fixes have, with a note on it."""
    before, after = "def a(b):\n    c\n", "def a(b):\n    if b is None:\n        c\n"
    return changed({"src/parts.py": (before, after), path: (old, new)})


def test_the_note_on_a_change_tells_its_type() -> None:
    assert type_of(with_note(".changeset/odd-cats.md", '---\n"core": patch\n---\n\nWords\n')) == "fix"
    assert type_of(with_note(".changeset/odd-cats.md", '---\n"core": minor\n---\n\nWords\n')) == "feat"


def test_a_note_says_nothing_about_a_change_of_documentation() -> None:
    facts = changed({"changes/12.feature.md": ("", "Words\n"), "docs/a.md": ("One\n", "Two\n")})
    assert "noted as feat" not in evidence_of(facts)
    assert type_of(facts) == "docs"


def test_the_projects_own_habit_decides_over_the_general_one() -> None:
    facts = changed({"site/page.md": ("one\n", "two\n")})
    assert type_of(facts) == "docs"
    assert type_of(facts, PAST) == "chore"
    assert type_of(facts, Habits([])) == "docs"


def test_a_scope_is_given_where_the_authors_give_one() -> None:
    assert PAST.scope_of(["core/other.py"], "fix") == "core"
    assert PAST.scope_of(["site/new.md"], "fix") == "site"
    assert PAST.scope_of(["lib/other.py"], "fix") is None
    assert Habits([]).scope_of(["core/other.py"], "fix") is None


def with_scopes(scope: str, given: int, of: int) -> Habits:
    """`given`: how many of the earlier commits to lib/parser have the scope."""
    named = [earlier(f"fix({scope}): a", ("lib/parser/a.py",))] * given
    return Habits(named + [earlier("fix: a", ("lib/parser/a.py",))] * (of - given))


def test_a_scope_is_given_where_authors_often_give_one_and_sooner_if_it_names_a_place() -> None:
    assert with_scopes("syntax", 16, of=20).scope_of(["lib/parser/a.py"], "fix") == "syntax"
    assert with_scopes("syntax", 8, of=20).scope_of(["lib/parser/a.py"], "fix") is None
    assert with_scopes("Parser", 8, of=20).scope_of(["lib/parser/a.py"], "fix") == "Parser"
    assert with_scopes("Parser", 4, of=20).scope_of(["lib/parser/a.py"], "fix") is None


def test_what_bots_call_their_changes_counts_little() -> None:
    def past(*, by_bot: bool) -> Habits:
        bumps = [earlier("chore(deps-dev): a", ("yarn.lock",), by_bot=by_bot)] * 8
        return Habits(bumps + [earlier("chore(deps): a", ("yarn.lock",))] * 4)

    assert past(by_bot=True).scope_of(["yarn.lock"], "chore") == "deps"
    assert past(by_bot=False).scope_of(["yarn.lock"], "chore") == "deps-dev"


def test_bots_do_not_tell_whether_scopes_are_given() -> None:
    def past(*, by_bot: bool) -> Habits:
        notes = [earlier("fix: a", (f"notes/{number}.py",), by_bot=by_bot) for number in range(60)]
        return Habits(notes + [earlier("fix(syntax): a", ("lib/a.py",))] * 12 + [earlier("fix: a", ("lib/a.py",))] * 3)

    assert past(by_bot=True).scope_of(["lib/a.py"], "fix") == "syntax"
    assert past(by_bot=False).scope_of(["lib/a.py"], "fix") is None


def test_a_type_that_has_no_scopes_gets_none() -> None:
    scoped, plain = earlier("feat(syntax): a", ("core/a.py",)), earlier("chore: b", ("core/a.py",))
    past = Habits([scoped, plain, plain, plain, plain] * 20)
    assert past.scope_of(["core/a.py"], "feat") == "syntax"
    assert past.scope_of(["core/a.py"], "chore") is None


def test_a_folder_that_no_commit_has_touched_is_a_scope_where_its_neighbours_are() -> None:
    packages = ("lexer", "Parser", "printer", "cli")
    past = [earlier(f"fix({name.lower()}): a", (f"packages/{name}/src/a.ts",)) for name in packages] * 10
    assert Habits(past).scope_of(["packages/type-checker/src/a.ts"], "fix") == "type-checker"
    assert Habits(past).scope_of(["packages/Parser/src/b.ts"], "fix") == "parser"


@pytest.mark.parametrize(
    ("pattern", "scope", "new", "expected"),
    [
        ("tests/test_{}.py", "{}", "tests/test_cursor.py", "cursor"),
        ("src/{}_view.py", "{}", "src/cursor_view.py", "cursor"),
        ("packages/maker/{}/a.ts", "maker-{}", "packages/maker/cursor/a.ts", "maker-cursor"),
        ("services/{}/a.rs", "service/{}", "services/cursor/a.rs", "service/cursor"),
        ("plugins/inputs/{}/a.go", "inputs.{}", "plugins/inputs/cursor/a.go", "inputs.cursor"),
    ],
)
def test_a_place_gives_a_scope_a_part_of_its_name_or_that_of_the_folder_above(
    pattern: str, scope: str, new: str, expected: str
) -> None:
    words = ("lexer", "parser", "printer", "cli")
    past = [earlier(f"fix({scope.format(word)}): a", (pattern.format(word),)) for word in words] * 10
    assert Habits(past).scope_of([new], "fix") == expected


def test_what_the_places_say_about_the_type_is_a_leaning() -> None:
    leanings = PAST.type_leanings(["site/new.md"])
    assert leanings["chore"] > 0 > leanings["fix"]
    assert set(Habits([]).type_leanings(["a"]).values()) == {0.0}


def test_of_two_scopes_the_one_that_names_a_place_is_given() -> None:
    votes = {"syntax": 3, "parser": 2}
    past = [earlier(f"fix({scope}): a", ("lib/parser/a.py",)) for scope, count in votes.items() for _ in range(count)]
    assert Habits(past).scope_of(["lib/parser/a.py"], "fix") == "parser"
    assert Habits(past).scope_of(["lib/other/a.py"], "fix") == "syntax"


def test_spellings_of_a_scope_are_one_scope() -> None:
    votes = {"cmd-line": 3, "CmdLine": 2, "cmd_line": 2, "syntax": 4}
    past = [earlier(f"fix({scope}): a", ("lib/a.py",)) for scope, count in votes.items() for _ in range(count)]
    assert Habits(past).scope_of(["lib/a.py"], "fix") == "cmd-line"


def test_the_weights_fit_the_evidence() -> None:
    assert all(len(weights) == len(TYPES) for weights in WEIGHTS.values())
    facts = changed({"src/a.py": ("", "def a():\n    pass\n"), "docs/a.md": ("a\n", "b\n")})
    assert set(evidence_of(facts)) & set(WEIGHTS)
    assert sum(type_chances(facts).values()) == pytest.approx(1)
