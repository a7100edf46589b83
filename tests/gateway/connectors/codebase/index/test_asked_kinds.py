"""Questions that name kinds of files."""

from gateway.connectors.codebase.index.asked_kinds import asked_kinds
from gateway.connectors.codebase.tree.path_kinds import PathKind


def test_a_question_names_the_kinds_it_is_about():
    assert asked_kinds("Which tests cover the CI workflow?") == {PathKind.TEST, PathKind.CI}
    assert asked_kinds("the latest contest") == frozenset()


def test_a_format_that_source_reads_is_no_kind_of_file():
    assert asked_kinds("YAML loader: fix anchors in JSON output") == frozenset()
