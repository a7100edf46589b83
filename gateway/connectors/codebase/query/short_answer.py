"""A model's short answer to a question in words, from the excerpts that were found. It is used only if every line that
it cites was shown to the model, and every name in it occurs there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.connectors.codebase.commits.truth import names_in, stands
from gateway.connectors.codebase.model.draft import AnswerRejected, Document
from gateway.connectors.codebase.model.language_model import ModelPrompt
from gateway.connectors.codebase.model.prompt import AnswerForm, prompt_of, start_without_secrets, without_secrets
from gateway.connectors.codebase.query.formats import results, shown_rows
from gateway.connectors.codebase.query.natural import LONGEST_QUESTION
from gateway.connectors.codebase.query.query_result import QueryResult
from gateway.connectors.codebase.secrets import sanitized

LONGEST_ANSWER = 1_200  # characters
_LONGEST_CONTEXT = 2_000

_RULES = """
You answer a question about a source tree from excerpts that a search has found, in at most 120 words of plain prose.
Behind each statement, cite the lines that show it as path:start-end, with a path and lines of the excerpts.
Write names of code as they stand there, in backticks. Say nothing that the excerpts do not show; if they do not answer
the question, the answer is the empty text. What the caller knows already only explains the question: do not cite it.
"""
_FORM = AnswerForm({"answer": LONGEST_ANSWER})
_CITED = re.compile(r":(?P<start>\d+)(?:[-–](?P<end>\d+))?")
_PATH_CHARACTER = re.compile(r"[\w./\\-]\Z")  # if one stands before a path, the path is only the end of a longer one
# An address with a scheme, a host with a path, an e-mail address, or the target of a Markdown link.
_ADDRESS = re.compile(r"\w+://[^\s)]+|\bwww\.[^\s)]+|\b[\w-]+(?:\.[\w-]+)+/[^\s)]*|[\w.+-]+@[\w.-]+|(?<=\]\()[^\s)]+")
_AFTER_ADDRESS = ".,:;!?`\"'>”“»"


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """`places`: (path, first line, last line) of each excerpt in the prompt. `excerpts`: their text, in which every
    name of an answer must occur."""

    prompt: ModelPrompt
    places: tuple[tuple[str, int, int], ...]
    excerpts: str

    def improved(self, document: Document, text: str) -> dict[str, Any]:
        answer = _FORM.read(text)["answer"]
        if not answer:
            raise AnswerRejected("it found no answer in the excerpts")
        self._check_names(self._without_citations(answer))
        if sanitized(answer) != answer:
            raise AnswerRejected("it may contain a secret")
        return {**document, "results": {"answer": answer, **document["results"]}}

    def _without_citations(self, answer: str) -> str:
        """The answer's text between its citations. Raises AnswerRejected if a cited line was not shown, or if nothing
        is cited."""
        left, end = [], 0
        for cited in _CITED.finditer(answer):
            first = int(cited["start"])
            path = self._path_before(answer[: cited.start()], first, int(cited["end"] or first))
            left.append(answer[end : cited.start() - len(path)])
            end = cited.end()
        if not left:
            raise AnswerRejected("it cites no line")
        return "".join([*left, answer[end:]])

    def _path_before(self, text: str, first: int, last: int) -> str:
        for path, start, end in self.places:
            is_path = text.endswith(path) and not _PATH_CHARACTER.search(text.removesuffix(path))
            if is_path and start <= first <= last <= end:
                return path
        place = f"{text.split()[-1] if text.split() else ''}:{first}-{last}"
        raise AnswerRejected(f"it cites {_brief(place)}, which was not shown to it")

    def _check_names(self, answer: str) -> None:
        addresses = (each.rstrip(_AFTER_ADDRESS) for each in _ADDRESS.findall(answer))
        for name in (*names_in(answer), *addresses):
            if not stands(name, self.excerpts):
                raise AnswerRejected(f"it names {_brief(name)}, which is not in the excerpts")


def evidence_of(question: str, context: Sequence[str], found: QueryResult) -> AnswerEvidence | None:
    """`found`: with its secrets already removed. Returns None if no row has an excerpt."""
    places = tuple((row["path"], row["startLine"], row["endLine"]) for row in shown_rows(found) if row.get("excerpt"))
    if not places:
        return None
    excerpts = without_secrets(results(found, "Detailed")["text"])
    known = start_without_secrets(" ".join(context), _LONGEST_CONTEXT)
    task = f"Question: {start_without_secrets(question, LONGEST_QUESTION)}"
    content = f"Known already:\n{known}\n\nThe excerpts:\n{excerpts}" if known else excerpts
    return AnswerEvidence(prompt_of(_RULES, task, content, form='{"answer": "…"}'), places, excerpts)


def _brief(text: str) -> str:
    return f'"{sanitized(text)[:80]}"'
