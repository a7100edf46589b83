"""A model's wording of a commit message. Type, scope and footer stay as the local engine chose them. Every name, number
and abbreviation must occur in the part of the change that the model was shown."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gateway.connectors.codebase.commits.facts import ChangeFacts, FileFacts
from gateway.connectors.codebase.commits.message import (
    LENGTH_MAX,
    TITLE_MAX,
    CommitMessage,
    MessageFormat,
    by_weight,
    file_list,
)
from gateway.connectors.codebase.commits.quoting import shown
from gateway.connectors.codebase.commits.truth import Truth, names_in, stands, without_type
from gateway.connectors.codebase.git.changes import FileChange, Hunk
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.model.draft import AnswerRejected, Document
from gateway.connectors.codebase.model.language_model import ModelPrompt
from gateway.connectors.codebase.model.prompt import AnswerForm, prompt_of, start_without_secrets, without_secrets

_MOST_SHOWN = 16_000  # characters of the change
_LEAST_OF_FILE = 1_500  # characters that a file may have, however many files there are
_LONGEST_LINE = 400  # characters
_LONGEST_BODY = 4_000

_RULES = """
You word a commit message for a change. Say what it does and, where the change itself shows it, why.
subject: imperative, at most {room} characters, no full stop, without type and scope, with at least one name of the
change in backticks. body: a few short sentences or list items; it may be empty. Lines of the body end after about 72
characters. No footers such as "Fixes #1" or "Signed-off-by".
Say only what the change shows. Names, numbers and abbreviations are written as they stand in it, names in backticks.
"add", "use" and "rename … to" go before names on added lines; "remove" and "drop" before names on removed lines.
"""
_PART = "Only a part of the change is shown: do not say that anything is removed.\n"
_FORM = AnswerForm({"subject": LENGTH_MAX, "body": LENGTH_MAX})
_PLAIN_CLAIM = re.compile(r"\d[\d.]*\d|\d|\b[A-Z][A-Z0-9]+\b")  # numbers and abbreviations
_FOOTER = re.compile(r"(?im)^\W{0,3}(breaking[ -]change\b|[a-z]+(-[a-z]+)+:|[a-z]+ #\d)")
_REMOVING = re.compile(r"(?i)\b(remov|drop|delet)")


@dataclass(frozen=True, slots=True)
class MessageEvidence:
    """`text`: the shown part of the change, in lower case. `truth` checks claims about it. `is_part`: `text` is not the
    whole change. `head`: the title's type and scope, before the subject. `files`: the lines of the local body, one for
    each listed file; the change has `count` files. `room`: the most characters that the title may have."""

    prompt: ModelPrompt
    truth: Truth
    text: str
    is_part: bool
    form: MessageFormat
    head: str
    room: int
    max_length: int
    files: tuple[str, ...]
    count: int

    def improved(self, document: Document, text: str) -> dict[str, Any]:
        answer = _FORM.read(text)
        title = self._title(answer["subject"])
        local = document["commitMessage"]
        body = self._body(answer["body"], self.max_length - len(title) - len(local["footer"]) - 4) or local["body"]
        message = CommitMessage(title, body, local["footer"])
        if len(message.text) > self.max_length:
            raise AnswerRejected(f"the message would have {len(message.text):,} characters")
        return {**document, "commitMessage": {"title": title, "body": body, "footer": message.footer}}

    def _title(self, subject: str) -> str:
        subject = without_type(subject).rstrip(".")
        if self.form is MessageFormat.SUMMARY:
            subject = subject[:1].upper() + subject[1:]
        title = self.head + subject
        if not subject or "\n" in subject or len(title) > self.room:
            raise AnswerRejected(f"its title is not one line of at most {self.room} characters")
        if not names_in(subject):
            raise AnswerRejected("its title names nothing of the change")
        self._check(subject)
        return title

    def _body(self, text: str, room: int) -> str:
        """The body from the model's text. A detailed message keeps the list of files below it."""
        if not text or self.form is MessageFormat.SUMMARY:
            return ""
        if len(text) > _LONGEST_BODY or _FOOTER.search(text):
            raise AnswerRejected("its body is too long, or has a footer")
        self._check(text)
        if self.form is not MessageFormat.DETAILED:
            return text
        files = file_list(self.files, self.count, room - len(text) - 2)
        return f"{text}\n\n{files}" if files else text

    def _check(self, text: str) -> None:
        """Raises AnswerRejected for the first claim that the change does not bear out."""
        numbers = (each for each in _PLAIN_CLAIM.findall(text) if not stands(each.lower(), self.text))
        for false in (*self.truth.false_claims(text), *self.truth.claims_of_both_sides(text), *numbers):
            raise AnswerRejected(f'it says "{shown(false[:80])}", which the change does not bear out')
        if not self.truth.holds(text):
            raise AnswerRejected("it may contain a secret")
        if self.is_part and _REMOVING.search(text):
            raise AnswerRejected("it says that something is removed, but it was shown only a part of the change")


def evidence_of(
    request: CommitRequest, message: CommitMessage, facts: ChangeFacts, secrets: frozenset[str]
) -> MessageEvidence:
    """`secrets`: values that must not be shown."""
    files = tuple(_shown_files(by_weight(facts.files), secrets))
    whole = tuple(file.change for file in by_weight(facts.files))
    is_part = facts.truncated or files != whole or any(file.cut for file in whole)
    text = without_secrets("\n".join(line for file in files for line in _lines(file)), secrets)
    room = min(TITLE_MAX, request.max_length)
    head = message.title.removesuffix(without_type(message.title))
    rules = _RULES.format(room=room - len(head)) + (_PART if is_part else "")
    local = f"The message so far, in the format {request.form.value}:\n{message.text[:_LONGEST_BODY]}"
    return MessageEvidence(
        prompt=prompt_of(
            rules,
            "Word the message of the change below.",
            f"{local}\n\nThe change:\n{text}",
            form='{"subject": "…", "body": "…"}',
        ),
        truth=Truth(files, secrets),
        text=text.lower(),
        is_part=is_part,
        form=request.form,
        head=head,
        room=room,
        max_length=request.max_length,
        files=tuple(line for line in message.body.split("\n") if line.startswith("- `")),
        count=facts.count,
    )


def _shown_files(files: Iterable[FileFacts], secrets: frozenset[str]) -> Iterator[FileChange]:
    """As much of each file as there is room for."""
    changes = [file.change for file in files]
    left, most = _MOST_SHOWN, max(_LEAST_OF_FILE, _MOST_SHOWN // max(1, len(changes)))
    for change in changes:
        if left <= 0:
            return
        short = replace(change, hunks=tuple(_shown_hunks(change.hunks, min(left, most), secrets)))
        left -= sum(len(line) + 1 for line in _lines(short))
        yield short


def _shown_hunks(hunks: Iterable[Hunk], room: int, secrets: frozenset[str]) -> Iterator[Hunk]:
    for hunk in hunks:
        lines = []
        for line in hunk.lines:
            room -= min(len(line.text), _LONGEST_LINE) + 2
            if room < 0:
                break
            is_short = len(line.text) <= _LONGEST_LINE
            text = line.text if is_short else start_without_secrets(line.text, _LONGEST_LINE, secrets)
            lines.append(replace(line, text=text))
        if lines:
            yield replace(hunk, lines=tuple(lines))
        if room < 0:
            return


def _lines(file: FileChange) -> Iterator[str]:
    old = f" from {shown(file.old_path)}" if file.old_path else ""
    yield f"=== {shown(file.path)} ({file.kind.value}{old})"
    for hunk in file.hunks:
        yield f"@@ {hunk.heading}".rstrip()
        yield from (line.mark + line.text for line in hunk.lines)
