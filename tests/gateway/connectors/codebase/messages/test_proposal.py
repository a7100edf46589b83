"""A model's wording of a message says only what the change bears out."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.commits.diff_text import read_diff
from gateway.connectors.codebase.commits.message import MessageFormat
from gateway.connectors.codebase.commits.truth import Truth
from gateway.connectors.codebase.messages.answer import answer_commit_message
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.model.draft import AnswerRejected, Draft
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.messages.conftest import DEFAULTS

DIFF = """\
diff --git a/src/client.py b/src/client.py
index 1..2 100644
--- a/src/client.py
+++ b/src/client.py
@@ -1,3 +1,4 @@ class Client:
     def fetch(self, url, timeout):
-        legacy_wait(self.socket)
+        for attempt in range(3):
+            retry_wait(attempt)
-        return read_all(self.socket)
+        return read_all(self.socket, timeout)
diff --git a/README.md b/README.md
index 1..2 100644
--- a/README.md
+++ b/README.md
@@ -1,1 +1,2 @@
 # Client
+A fetch is tried again over HTTP.
"""


@pytest.fixture
def root(tmp_path: Any) -> Any:
    return repositories.new(tmp_path / "project", **{"a.txt": "a\n"})


def drafted(root: Any, diff: str = DIFF, **given: Any) -> Draft:
    request = CommitRequest.of({**DEFAULTS, "sinceDiff": diff, **given})
    return answer_commit_message(root, request, Budget(limit=1.0, seconds=60, price=0.01), for_model=True)


def reworded(draft: Draft, subject: str, body: str = "") -> dict[str, str]:
    assert draft.evidence is not None
    text = orjson.dumps({"subject": subject, "body": body}).decode()
    message: dict[str, str] = draft.evidence.improved(draft.document, text)["commitMessage"]
    return message


def test_type_and_scope_stay_and_the_wording_is_the_models(root: Any):
    draft = drafted(root, scope="http")
    head = draft.document["commitMessage"]["title"].partition(":")[0]
    message = reworded(
        draft, "try `fetch` again before giving up.", "`retry_wait` comes before each of the 3 attempts."
    )
    assert message["title"] == f"{head}: try `fetch` again before giving up"
    assert head.endswith("(http)")
    assert message["body"] == "`retry_wait` comes before each of the 3 attempts."


def test_an_empty_body_leaves_the_local_one(root: Any):
    draft = drafted(root)
    assert reworded(draft, "try `fetch` again")["body"] == draft.document["commitMessage"]["body"] != ""


def test_a_detailed_message_keeps_the_list_of_files(root: Any):
    draft = drafted(root, format="Detailed")
    local = draft.document["commitMessage"]["body"]
    assert reworded(draft, "try `fetch` again", "It waits.")["body"] == f"It waits.\n\n{local}"
    short = drafted(root, format="Detailed", maxLength=130)
    message = reworded(short, "try `fetch` again", "It waits.")
    assert len("\n\n".join(filter(None, message.values()))) <= 130


def test_a_summary_is_one_sentence(root: Any):
    message = reworded(drafted(root, format="Summary"), "try `fetch` again", "Ignored.")
    assert message == {"title": "Try `fetch` again", "body": "", "footer": ""}


def test_a_type_that_the_model_adds_is_taken_off(root: Any):
    draft = drafted(root)
    head = draft.document["commitMessage"]["title"].partition(":")[0]
    assert reworded(draft, "chore(x): try `fetch` again")["title"] == f"{head}: try `fetch` again"


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("add `retry_forever` to `fetch`", ""),  # stands nowhere
        ("add `legacy_wait`", ""),  # was removed
        ("remove `retry_wait`", ""),  # was added
        ("remove `read_all`", ""),  # was changed
        ("add `read_all`", ""),
        ("rewrite everything in a safer way", ""),  # names nothing
        ("try `fetch` again 5 times", ""),
        ("try `fetch` again over TLS", ""),
        ("try `fetch` again", "Uses ExponentialBackoff."),
        ("try `fetch` again", "BREAKING CHANGE: `fetch` is gone."),
        ("try `fetch` again", "Fixes #3"),
        ("try `fetch` again", "Signed-off-by: Ada <ada@example.com>"),
        ("try `fetch` again\nand again", ""),
        ("try `fetch` again " + "and again " * 9, ""),
        ("", "It waits."),
        ("try `fetch` again", "It waits. " * 500),
    ],
)
def test_a_wording_that_the_change_does_not_bear_out_is_rejected(root: Any, subject: str, body: str):
    with pytest.raises(AnswerRejected):
        reworded(drafted(root), subject, body)


def test_of_a_part_of_a_change_nothing_is_said_to_be_removed(root: Any):
    lines = "".join(f"+    value_{number} = compute({number})\n" for number in range(2_000))
    diff = DIFF.partition("diff --git a/README")[0]
    long = diff.replace("@@ -1,3 +1,4 @@", "@@ -1,3 +1,2004 @@") + lines
    draft = drafted(root, long)
    assert reworded(draft, "use `retry_wait` in `fetch`")["title"]
    with pytest.raises(AnswerRejected, match="shown only a part"):
        reworded(draft, "drop `legacy_wait` from `fetch`")
    assert reworded(drafted(root), "drop `legacy_wait` from `fetch`")["title"]


def test_a_prompt_is_bounded_and_has_no_secret(root: Any):
    value = "hunter2-correct-horse"
    lines = f'+            password = "{value}"\n+            login({value!r})\n'
    diff = DIFF.replace("+            retry_wait(attempt)\n", lines).replace("-1,3 +1,4", "-1,3 +1,5")
    one = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x = 1\n+{1} = 2\n"
    files = "".join(one.format(f"f{at}.py", "y" * 3_000) for at in range(40))
    prompt = drafted(root, diff + files).evidence.prompt  # type: ignore[union-attr]
    assert value not in prompt.material
    assert "[withheld: key]" in prompt.material
    assert len(prompt.material) < 25_000


def test_a_secret_is_hidden_that_only_a_line_gives_away_that_is_not_shown(root: Any):
    filling = "".join(f"+    value_{number} = compute({number})\n" for number in range(1_000))
    lines = f"+login('hunter2-correct')\n{filling}+password = 'hunter2-correct'\n"
    material = drafted(root, f"--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,1002 @@\n{lines}").evidence.prompt.material  # type: ignore[union-attr]
    assert "password" not in material
    assert "login('[withheld: key]')" in material


_WORDS = st.sampled_from(
    [
        "try",
        "`fetch`",
        "again",
        "remove",
        "`legacy_wait`",
        "add",
        "`retry_wait`",
        "feat: ",
        "3",
        "HTTP",
        "\n",
        "x" * 30,
        "`",
    ]
)
_WRITTEN = st.lists(_WORDS | st.text(max_size=5), max_size=25).map(" ".join)


@given(subject=_WRITTEN, body=_WRITTEN, form=st.sampled_from(list(MessageFormat)), length=st.integers(20, 200))
def test_whatever_a_model_writes_the_message_fits_and_is_true(
    one_root: Any, subject: str, body: str, form: Any, length: int
):
    draft = drafted(one_root, format=form.value, maxLength=length)
    try:
        message = reworded(draft, subject, body)
    except AnswerRejected:
        return
    truth = Truth(read_diff(DIFF).files)
    assert len("\n\n".join(filter(None, message.values()))) <= length
    assert 1 <= len(message["title"]) <= min(72, length)
    assert "\n" not in message["title"]
    assert all(truth.holds(part) for part in message.values())


@pytest.fixture(scope="module")
def one_root(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return repositories.new(tmp_path_factory.mktemp("tree") / "project", **{"a.txt": "a\n"})


def test_a_file_for_secrets_is_named_and_not_shown(root: Any):
    diff = DIFF + "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-MODE=old\n+MODE=shy\n"
    material = drafted(root, diff).evidence.prompt.material  # type: ignore[union-attr]
    assert "=== .env (Modified" in material
    assert "shy" not in material


def test_a_secret_in_a_long_line_is_hidden_before_the_line_is_cut(root: Any):
    value = "q7Zr2LpW9xKvT4mN8sBd"
    line = '{"filling": "' + "a " * 180 + f'", "api_token":"{value}", "port": 8080}}'
    assert line.index(value) < 400 < line.index(value) + len(value)
    draft = drafted(root, f"--- a/a.json\n+++ b/a.json\n@@ -1 +1 @@\n-{{}}\n+{line}\n")
    material = draft.evidence.prompt.material  # type: ignore[union-attr]
    assert '"filling"' in material
    assert value[:8] not in material
    with pytest.raises(AnswerRejected):
        reworded(draft, f"add `{value[:11]}` to `a.json`")


def test_what_answers_are_redacted_of_is_hidden_and_cannot_be_said(root: Any):
    draft = drafted(root, DIFF.replace("-1,1 +1,2", "-1,1 +1,3") + "+The door code: 4711 opens the gate.\n")
    material = draft.evidence.prompt.material  # type: ignore[union-attr]
    assert "The door code: [withheld: door code]" in material
    assert "4711" not in material
    assert reworded(draft, "try `fetch` again")["title"]
    with pytest.raises(AnswerRejected, match='it says "4711"'):
        reworded(draft, "try `fetch` again", "The gate opens with 4711.")
