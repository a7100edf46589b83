"""The kinds of files that a question names, which are then ranked nearly as high as source.

A word is listed if most commits of public projects with that word in their subject change a file of its kind. `json`,
`yaml` and `docker` are not listed: such commits mostly change source that reads such files.
"""

import re

from gateway.connectors.codebase.tree.path_kinds import PathKind

_WORD = re.compile(r"[a-z]+")
_NAMES = {
    PathKind.TEST: "test tests spec specs fixture fixtures benchmark benchmarks",
    PathKind.DOCS: "doc docs documentation readme changelog tutorial guide example examples typo typos",
    PathKind.CI: "workflow workflows ci",
    PathKind.BUILD: "dockerfile makefile cmake",
}
_VENDORED = re.compile(r"(?i)vendor|(third|3rd)[ _-]?party")
_KINDS = {word: kind for kind, words in _NAMES.items() for word in words.split()}


def asked_kinds(question: str) -> frozenset[PathKind]:
    """The kinds, other than source, that the question names."""
    words = set(_WORD.findall(question.lower()))
    return frozenset(_KINDS[word] for word in words & _KINDS.keys())


def asks_for_vendored(question: str) -> bool:
    """Whether the question names vendored code. Also true if it means other vendors, such as those of a shop."""
    return bool(_VENDORED.search(question))
