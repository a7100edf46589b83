"""Messages of small changes: true of the diff, within their bounds, and different for different diffs."""

import re
from dataclasses import replace
from typing import Any

import pytest

from gateway.connectors.codebase.commits import message
from gateway.connectors.codebase.commits.diff_text import read_diff
from gateway.connectors.codebase.commits.facts import ChangeFacts, facts_of
from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.commits.impact import Impact, ImpactSeverity
from gateway.connectors.codebase.commits.impact import impact_of as impact_of_facts
from gateway.connectors.codebase.commits.message import CommitMessage, MessageFormat
from gateway.connectors.codebase.commits.summaries import Summaries
from gateway.connectors.codebase.commits.truth import Truth
from gateway.connectors.codebase.git.changes import ChangeSet
from tests.gateway.connectors.codebase.commits.test_facts import changed
from tests.gateway.connectors.codebase.commits.test_type_choice import PAST

OLD = "def kept(a):\n    return a\n\ndef gone(x, y):\n    pass\n"
NEW = "def kept(a):\n    return other_name(a)\n\nclass Come:\n    pass\n"


def set_of(facts: ChangeFacts) -> ChangeSet:
    return ChangeSet(tuple(file.change for file in facts.files), facts.truncated)


def commit_message(changes: ChangeSet, habits: Habits | None = None, **options: Any) -> CommitMessage:
    facts, summaries = facts_of(changes), Summaries(truncated=changes.truncated)
    return message.commit_message(facts, Truth(changes.files), summaries, habits, **options)


def impact_of(changes: ChangeSet) -> Impact:
    return impact_of_facts(facts_of(changes))


def first_summary(changes: ChangeSet) -> str:
    return Summaries(truncated=changes.truncated).of(facts_of(changes).files[0])


def a_change(*files: tuple[str, str, str]) -> ChangeSet:
    return set_of(changed({path: (old, new) for path, old, new in files}))


MANY = a_change(*((f"core/part{number}.py", OLD, NEW) for number in range(9)), ("docs/a.md", "one\n", "two words\n"))


@pytest.mark.parametrize("form", MessageFormat)
@pytest.mark.parametrize("length", [20, 21, 40, 72, 73, 120, 300, 20_000])
def test_every_bound_holds(form: MessageFormat, length: int) -> None:
    message = commit_message(MANY, form=form, scope="a-long-scope", max_length=length)
    assert 0 < len(message.text) <= length
    assert len(message.title) <= min(72, length)
    assert not Truth(MANY.files).false_claims(message.text)
    assert (form is MessageFormat.SUMMARY) is not bool(re.match(r"[a-z]+(\(.+\))?!?: ", message.title))


@pytest.mark.parametrize("length", [19, 20_001, 0])
def test_a_length_out_of_range_names_its_parameter(length: int) -> None:
    with pytest.raises(ValueError, match=f"maxLength is {length}"):
        commit_message(MANY, max_length=length)


def test_the_parts_of_a_message() -> None:
    message = commit_message(MANY, scope="mine")
    assert re.match(r"[a-z]+\(mine\)!: ", message.title)
    assert message.body.count("\n- ") == 6
    assert message.body.endswith("- and 4 more files")
    assert message.footer == "BREAKING CHANGE: `gone` is gone."
    whole = commit_message(MANY, form=MessageFormat.DETAILED)
    assert whole.body.count("\n- ") == len(MANY.files) - 1
    assert commit_message(MANY, form=MessageFormat.SUMMARY).body == ""


def test_the_scope_is_the_projects_own() -> None:
    assert "(core)" in commit_message(MANY, PAST).title
    assert "(" not in commit_message(MANY).title.partition(":")[0]


@pytest.mark.parametrize(
    ("path", "old", "new", "title"),
    [
        ("README.md", "See old_guide.\n", "See new_guide.\n", "change `old_guide` to `new_guide` in `README.md`"),
        ("package.json", '  "pad": "^1.2.0",\n', '  "pad": "^1.3.0",\n', "bump `pad` from `^1.2.0` to `^1.3.0`"),
        (
            "gradle/libs.gradle",
            "osgi = 'org.eclipse.platform:org.eclipse.osgi:3.18.300'\n",
            "osgi = 'org.eclipse.platform:org.eclipse.osgi:3.18.400'\n",
            "change `3.18.300` to `3.18.400` in `libs.gradle`",
        ),
        ("lib/web/README.md", "See old_guide.\n", "See new_guide.\n", "`old_guide` to `new_guide` in `web/README.md`"),
        ("v.go", "Minor: 148,\nSuffix: DEV,\n", "Minor: 149,\nSuffix: one,\n", "change `148` to `149` in `v.go`"),
        ("a.test.ts", "\n", "\nit('counts lists', () => {\n", 'test: cover "counts lists" in `a.test.ts`'),
    ],
)  # fmt: skip
def test_titles_say_what_changed(path: str, old: str, new: str, title: str) -> None:
    assert title in commit_message(a_change((path, old, new))).title


def test_a_rename_is_told_and_a_mode() -> None:
    renamed = read_diff("diff --git a/x/a.py b/y/b.py\nsimilarity index 100%\nrename from x/a.py\nrename to y/b.py\n")
    assert "rename `x/a.py` to `y/b.py`" in commit_message(renamed).title
    mode = read_diff("diff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\n")
    assert first_summary(mode) == "mode 644 becomes 755"


@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        ("100644", "100755", "make `a/x.sh` executable"),
        ("100755", "100644", "make `a/x.sh` not executable"),
        ("100644", "120000", "make `a/x.sh` a link"),
        ("120000", "100755", "make `a/x.sh` a file"),
        ("100644", "100600", "update `a/x.sh`"),
    ],
)
def test_a_change_of_mode_alone_is_the_title(old: str, new: str, title: str) -> None:
    mode = read_diff(f"diff --git a/a/x.sh b/a/x.sh\nold mode {old}\nnew mode {new}\n")
    assert commit_message(mode).title.endswith(f": {title}")
    assert first_summary(mode).endswith(title.rpartition(" ")[2] if "12" in old + new else new[3:])


def test_a_title_counts_no_lines_where_none_changed() -> None:
    binary = read_diff("diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n")
    assert commit_message(binary).title.endswith(": update `i.png`")


def test_false_claims_are_found_on_either_side() -> None:
    truth = Truth(a_change(("a.py", OLD, NEW)).files)
    assert truth.false_claims("feat(any_scope): add `Come` to `a.py`; remove `gone`") == ()
    assert truth.false_claims("add `gone`") == ("gone",)
    assert truth.false_claims("remove `Come`") == ("Come",)
    assert truth.false_claims("rename `gone` to `Come`") == ()
    assert truth.false_claims("rename `Come` to `gone`") == ("Come", "gone")
    assert truth.false_claims("update `kep` and otherName") == ("kep", "otherName")


def test_of_a_cut_diff_nothing_is_said_to_be_gone() -> None:
    cut = ChangeSet(MANY.files, truncated=True)
    text = commit_message(cut, form=MessageFormat.DETAILED).text
    assert "remove" not in text
    assert "BREAKING" not in text
    assert impact_of(cut).review_focus[0].startswith("The diff is cut")


@pytest.mark.parametrize(
    ("path", "old", "new", "severity"),
    [
        ("README.md", "a\n", "b\n", ImpactSeverity.NONE),
        ("a.py", "# one\n", "# two\n", ImpactSeverity.NONE),
        ("a.py", "x = 1\n", "x = 2\n", ImpactSeverity.MINOR),
        (".github/workflows/ci.yml", "a\n", "b\n", ImpactSeverity.MINOR),
        ("a.py", "\n", "\ndef come():\n    pass\n", ImpactSeverity.MODERATE),
        ("a.py", OLD, NEW, ImpactSeverity.MAJOR),
        ("package.json", '  "left-pad": "^1.2.0",\n', '  "left-pad": "^2.0.0",\n', ImpactSeverity.MAJOR),
    ],
)
def test_the_severity(path: str, old: str, new: str, severity: ImpactSeverity) -> None:
    assert impact_of(a_change((path, old, new))).severity is severity


def test_the_focus_names_broken_callers_and_missing_tests() -> None:
    impact = impact_of(a_change(("core/inner/a.py", OLD, NEW)))
    assert impact.areas == ("core/inner",)
    assert "Callers of `gone`, gone from `core/inner/a.py`." in impact.review_focus
    assert "No test changes with `core/inner/a.py`." in impact.review_focus


def test_secrets_are_not_quoted() -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    change = a_change(("conf.py", "a = 1\n", f'a = 1\nlevel = "{key}"\ndb_password = "hunter2_x"\n'))
    everything = commit_message(change, form=MessageFormat.DETAILED).text + first_summary(change)
    assert key not in everything
    assert "hunter2_x" not in everything


def test_a_name_cannot_break_a_line() -> None:
    name = "x\\n`y.py"
    header = f'diff --git "a/{name}" "b/{name}"\nnew file mode 100644\n--- /dev/null\n+++ "b/{name}"\n'
    change = read_diff(f"{header}@@ -0,0 +1 @@\n+one\n")
    assert commit_message(change, form=MessageFormat.SUMMARY).text.count("\n") == 0
    assert not Truth(change.files).false_claims(commit_message(change).text)


def test_a_line_below_a_definition_is_not_told_as_a_change_of_it() -> None:
    change = a_change(("a.py", "def one():\n    pass\n", "def one():\n    pass\ndef two():\n    pass\n"))
    assert first_summary(change) == "add `two` (+2 -0)"


def test_of_a_file_that_was_not_read_whole_nothing_is_counted() -> None:
    (file,) = a_change(("a.py", OLD, NEW)).files
    change = ChangeSet((replace(file, cut=True),), truncated=True)
    assert "(+" not in first_summary(change)
    assert first_summary(change).endswith("; not all of its lines were looked at")
    assert "(+" not in commit_message(change).text


def test_files_that_were_not_looked_at_are_counted_and_not_told() -> None:
    facts = facts_of(MANY, iter([True, False]).__next__)
    assert (len(facts.files), facts.count, facts.truncated) == (2, 10, True)
    made = message.commit_message(facts, Truth(MANY.files[:2]), Summaries(truncated=True))
    assert made.body.endswith("- and 8 more files")
