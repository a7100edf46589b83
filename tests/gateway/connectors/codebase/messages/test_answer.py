"""Answers of dbp_commit_message: where the changes come from, what is said of them, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from context_protection.core.errors import CallError, InvalidArgument, NotFound
from gateway.connectors.codebase.git.refusal import RepositoryRefused
from gateway.connectors.codebase.messages import answer
from tests.gateway.connectors.codebase.messages.conftest import Ask, message_of
from tests.gateway.connectors.codebase.repositories import commit, git, new, write
from tests.gateway.connectors.codebase.test_secrets import FORMS

NOWHERE = Path("/nowhere/at/all")  # a diff is read without the project
DIFF = (
    "diff --git a/src/names.py b/src/names.py\n--- a/src/names.py\n+++ b/src/names.py\n"
    "@@ -1,2 +1,3 @@\n import re\n-def old_name(a):\n+def new_name(a):\n+    return re.escape(a)\n"
)
CONVENTIONAL = re.compile(r"(feat|fix|docs|test|refactor|perf|style|build|ci|chore)(\([^()]+\))?!?: \S.*")


def kinds(answer: dict[str, Any]) -> dict[str, str]:
    found = {each["path"]: each["changeType"] for each in answer["changedFiles"]}
    assert len(found) == len(answer["changedFiles"])
    return found


def refused(ask: Ask, root: Path, **given: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(root, **given)
    assert caught.value.suggestion
    return caught.value


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new(
        tmp_path / "project", **{"a.py": "def one():\n    return 1\n", "b.md": "text\n", ".gitignore": "*.log\n"}
    )


# -- Where the changes come from ------------------------------------------------------------------------


def test_without_arguments_it_is_the_work_tree(ask: Ask, root: Path) -> None:
    write(root, **{"a.py": "def two():\n    return 1\n", "new.py": "x = 1\n", "an.log": "ignored\n"})
    (root / "b.md").unlink()
    assert kinds(ask(root)) == {"a.py": "Modified", "new.py": "Added", "b.md": "Deleted"}


@pytest.mark.parametrize("bare", [False, True])
def test_a_clean_tree_and_a_bare_one_tell_the_last_commit(ask: Ask, root: Path, tmp_path: Path, bare: bool) -> None:
    git(root, "mv", "a.py", "c.py")
    commit(root, "second")
    if bare:
        git(tmp_path, "clone", "-q", "--bare", str(root), "bare.git")
    (file,) = ask(tmp_path / "bare.git" if bare else root)["changedFiles"]
    assert file == {"path": "c.py", "oldPath": "a.py", "changeType": "Renamed", "summary": "rename `a.py` to `c.py`"}


def test_since_a_commit_it_is_all_up_to_the_work_tree(ask: Ask, root: Path) -> None:
    first = git(root, "rev-parse", "HEAD")
    write(root, **{"committed.py": "x = 1\n"})
    commit(root, "second")
    write(root, **{"left.py": "x = 1\n"})
    assert kinds(ask(root, sinceCommit=first)) == {"committed.py": "Added", "left.py": "Added"}
    assert kinds(ask(root, sinceCommit="HEAD")) == {"left.py": "Added"}


def test_of_a_diff_the_project_is_not_read(ask: Ask) -> None:
    found = ask(NOWHERE, sinceDiff=DIFF)
    assert kinds(found) == {"src/names.py": "Modified"}
    assert "rename `old_name` to `new_name`" in found["commitMessage"]["title"]
    # Only the past, which the type and the scope take into account, cannot be read.
    assert found["metadata"]["incomplete"] == ["The step history failed; the other results are complete."]
    assert found["metadata"]["isPartialResult"]


def test_a_project_that_cannot_be_read_is_an_error(ask: Ask) -> None:
    with pytest.raises(RepositoryRefused):
        ask(NOWHERE)


# -- What is refused ------------------------------------------------------------------------------------


def test_a_diff_and_a_commit_together_are_refused(ask: Ask, root: Path) -> None:
    assert refused(ask, root, sinceDiff=DIFF, sinceCommit="HEAD").parameter == "sinceCommit"
    assert refused(ask, root, sinceDiff="", sinceCommit="HEAD").parameter == "sinceCommit"


@pytest.mark.parametrize(
    "text",
    ["", " \n", "Please write a message.", "--- a\nno plus line\n", DIFF * 6_000]
    + [f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n" for path in ("../x", "/etc/passwd", "a/../../x", "C:\\x")]
    + ["diff --git a/x b/../../y\nsimilarity index 100%\nrename from x\nrename to ../../y\n"],
)
def test_what_is_no_diff_is_refused_by_name_and_reads_nothing(ask: Ask, text: str) -> None:
    error = refused(ask, NOWHERE, sinceDiff=text)
    assert isinstance(error, InvalidArgument)
    assert (error.parameter, error.reason) == ("sinceDiff", "invalid_diff")
    assert error.message.startswith("sinceDiff ")
    assert "Expected" not in error.message


@pytest.mark.parametrize(
    "name", ["0" * 40, "deadbeef", "no-such-branch", "--all", "a\nb", "HEAD~9", "HEAD..HEAD", "HEAD:a.py", "x" * 200]
)
def test_a_bad_commit_is_refused_by_name(ask: Ask, root: Path, name: str) -> None:
    error = refused(ask, root, sinceCommit=name)
    assert isinstance(error, InvalidArgument)
    assert (error.parameter, error.reason) == ("sinceCommit", "invalid_commit")
    assert error.message.startswith("sinceCommit ")
    assert str(root) not in str(error.document())


def test_an_empty_commit_is_not_an_absent_one(ask: Ask, root: Path) -> None:
    assert refused(ask, root, sinceCommit=" ").parameter == "sinceCommit"


def test_nothing_to_describe_is_said(ask: Ask, root: Path, tmp_path: Path) -> None:
    assert refused(ask, root, sinceCommit="HEAD").suggestion.startswith("Set sinceCommit to HEAD~1")
    git(root, "commit", "-q", "--allow-empty", "-m", "empty")
    for empty in (root, new(tmp_path / "empty")):
        error = refused(ask, empty)
        assert isinstance(error, NotFound)
        assert error.reason == "no_changes"


@pytest.mark.parametrize("scope", ["a\nb", "a)b", " a", "`", "a: b"])
def test_a_scope_that_would_break_the_title_is_refused(ask: Ask, scope: str) -> None:
    assert refused(ask, NOWHERE, sinceDiff=DIFF, scope=scope).parameter == "scope"


# -- The message ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["Conventional", "Detailed", "Summary"])
@pytest.mark.parametrize("length", [20, 50, 72, 200, 20_000])
def test_the_whole_message_keeps_to_its_length(ask: Ask, root: Path, form: str, length: int) -> None:
    write(root, **{f"src/part{number}.py": f"def name{number}():\n    pass\n" for number in range(30)})
    found = ask(root, format=form, maxLength=length, scope="parts")
    assert bool(CONVENTIONAL.fullmatch(found["commitMessage"]["title"])) is (form != "Summary")
    assert bool(found["commitMessage"]["body"]) is (form != "Summary" and length >= 200)
    if length == 20_000 and form != "Summary":
        assert "(parts)" in found["commitMessage"]["title"]
        assert message_of(found).count("\n- ") == (30 if form == "Detailed" else 7)


def test_different_diffs_have_different_messages(ask: Ask, root: Path) -> None:
    titles = set()
    for number in range(20):
        write(root, **{"a.py": f"def one():\n    return value_{number}\n"})
        titles.add(ask(root)["commitMessage"]["title"])
    assert len(titles) == 20


def test_the_scope_and_the_type_are_the_projects_own(ask: Ask, root: Path) -> None:
    for number in range(40):
        write(root, **{f"api/{number % 3}.py": f"x = {number}\n"})
        commit(root, f"perf(api): change {number}")
    write(root, **{"api/1.py": "x = 99\n"})
    assert ask(root)["commitMessage"]["title"].startswith("perf(api): ")


def test_impact_only_when_asked_for(ask: Ask, root: Path) -> None:
    write(root, **{"a.py": "def other():\n    return 1\n"})
    assert "impactAnalysis" not in ask(root)
    impact = ask(root, includeImpact=True)["impactAnalysis"]
    assert (impact["severity"], impact["affectedAreas"]) == ("Major", ["source"])
    assert "Callers of `one`, gone from `a.py`." in impact["suggestedReviewFocus"]


def test_suggestions_are_calls_that_run(ask: Ask, root: Path) -> None:
    write(root, **{"a.py": "def other():\n    return 1\n"})
    calls = [each.partition(" ") for each in ask(root, sinceCommit="HEAD", project="shop")["suggestions"]]
    assert [(tool, json.loads(arguments)) for tool, _, arguments in calls] == [
        ("dbp_general_query", {"query": {"operation": "findReferences", "name": "one"}, "project": "shop"}),
        (
            "dbp_commit_message",
            {
                "sinceCommit": "HEAD",
                "project": "shop",
                "includeImpact": True,
                "format": "Conventional",
                "maxLength": 2000,
            },
        ),
    ]
    assert ask(root, **json.loads(calls[1][2]))["impactAnalysis"]


# -- Secrets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("place", ['KEY = "{}"\nconnect("{}")\n', "def f():\n    return use('{}', {})\n", "# {}\n"])
def test_a_planted_secret_is_in_no_answer(ask: Ask, root: Path, form: str, place: str) -> None:
    secret = FORMS[form]
    named = {} if "/" in secret else {f"keys/{secret}.txt": "x\n"}
    write(root, **{"conf.py": place.replace("{}", secret)}, **named)
    assert secret not in json.dumps(ask(root, format="Detailed", includeImpact=True))


def test_a_password_is_hidden_wherever_the_diff_has_it(ask: Ask, root: Path) -> None:
    write(root, **{"a.py": 'DB_PASSWORD = "hunter2x9"\n', "b.py": "def hunter2x9():\n    return login(hunter2x9)\n"})
    found = ask(root, format="Detailed", includeImpact=True)
    assert "hunter2x9" not in json.dumps(found)
    assert kinds(found) == {"a.py": "Modified", "b.py": "Added"}


def test_the_lines_of_a_file_for_secrets_are_not_looked_at(ask: Ask, root: Path) -> None:
    write(root, **{".env": "FIRST_ONE=something\nSECOND=other\n"})
    found = ask(root)
    assert found["changedFiles"] == [
        {"path": ".env", "changeType": "Added", "summary": "new file; not all of its lines were looked at"}
    ]
    assert found["metadata"]["incomplete"] == ["Lines of .env: too large, missing, or withheld."]


# -- A step that fails ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "function"), [("symbols", "facts_of"), ("history", "habits_of"), ("impact", "impact_of")]
)
def test_a_step_that_fails_leaves_the_others(
    ask: Ask, root: Path, monkeypatch: pytest.MonkeyPatch, step: str, function: str
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(answer, function, fail)
    write(root, **{"a.py": "def two():\n    return 1\n"})
    found = ask(root, includeImpact=True)
    assert found["metadata"]["incomplete"] == [f"The step {step} failed; the other results are complete."]
    assert [each["name"] for each in found["metadata"]["tools"] if each["isPartialResult"]] == [step]
    assert ("impactAnalysis" in found) is (step != "impact")
    assert kinds(found) == {"a.py": "Modified"}
