"""What a file is for, told by its path. Questions are mostly about source: the ranking puts others lower."""

import re
from enum import StrEnum


class FileKind(StrEnum):
    SOURCE = "source"
    TEST = "test"
    DOCS = "docs"
    DATA = "data"


_TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|e2e|fixtures?|testdata|benchmarks?|benches|bench|__mocks__)/"
    r"|(^|/)(test_[^/]*|conftest)\.py$|[._-](test|tests|spec|bench)\.[^/]+$|(Test|Tests|Spec)\.(java|kt|scala|cs|swift)$",
)
_DOCS = re.compile(
    r"\.(md|mdx|rst|adoc|txt|textile|rdoc|pod|tex|[1-9])$|(^|/)(docs?|documentation|website|examples?|samples?)/"
    r"|(^|/)(changelog|changes|readme|license|licence|copying|authors|contributors|history|news|notice)[^/]*$",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"\.(json5?|ya?ml|toml|ini|cfg|csv|tsv|xml|lock|properties|svg|html?|css|scss|less|snap|po|pot|sql|plist|conf|env|"
    r"sublime-\w+|tmlanguage|gradle|pro|am|ac|in|map|golden|out)$|(^|/)\.[^/]+(/|$)|(^|/)(makefile|dockerfile)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")
_ASKED = {
    FileKind.TEST: frozenset(_WORD.findall("test tests testing spec specs fixture fixtures benchmark benchmarks")),
    FileKind.DOCS: frozenset(
        _WORD.findall("doc docs documentation readme changelog tutorial guide example examples typo typos")
    ),
    FileKind.DATA: frozenset(
        _WORD.findall("json yaml yml toml xml html css svg workflow workflows ci docker makefile cmake")
    ),
}


def kind_of(path: str) -> FileKind:
    if _TEST.search(path):
        return FileKind.TEST
    if _DOCS.search(path):
        return FileKind.DOCS
    return FileKind.DATA if _DATA.search(path) else FileKind.SOURCE


def asked_kinds(question: str) -> frozenset[FileKind]:
    """The kinds other than source that the question names."""
    words = set(_WORD.findall(question.lower()))
    return frozenset(kind for kind, names in _ASKED.items() if words & names)
