"""The worked examples of the documentation work as they are written, and an addition changes few files."""

from collections.abc import Iterator

import pytest

from tests.worked_examples.examples import MAX_FILES, Example, ExampleError, ScratchCopy, counted, examples

EXAMPLES = examples()


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> ScratchCopy:
    return ScratchCopy(tmp_path_factory.mktemp("worked_examples"))


@pytest.fixture
def copy(copied: ScratchCopy) -> Iterator[ScratchCopy]:
    yield copied
    copied.reset()


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", EXAMPLES, ids=[example.title for example in EXAMPLES])


def test_the_documentation_shows_what_is_added_often():
    shown = {example.title.split()[-1] for example in EXAMPLES}
    assert {"filter", "setting", "figure", "reduction", "transport"} <= shown <= MAX_FILES.keys()


@each()
def test_an_example_changes_few_files_and_works(copy: ScratchCopy, example: Example):
    assert example.new_tests, "an example shows by a test of its own that it works"
    copy.apply(example.patches)
    copy.try_out(example.commands, example.tests)
    changed = counted(copy.changed())
    assert len(changed) <= example.most_files, changed


@each()
def test_a_patch_that_no_longer_fits_the_code_is_found(copy: ScratchCopy, example: Example):
    changes = [patch for patch in example.patches if "--- /dev/null" not in patch]
    assert changes
    for patch in changes:
        with pytest.raises(ExampleError, match="patch does not apply"):
            copy.apply([of_other_code(patch)])


def of_other_code(patch: str) -> str:
    """The patch with a line that the code does not have."""
    header, *hunk = patch.partition("\n@@")
    line = next(line for line in "".join(hunk).splitlines()[2:] if line.startswith((" ", "-")) and line[1:].strip())
    return header + "".join(hunk).replace(line, f"{line} # as it was", 1)


def test_an_addition_that_does_nothing_is_found(copy: ScratchCopy):
    example = next(example for example in EXAMPLES if example.title.endswith("reduction"))
    copy.apply(example.patches[-1:])  # its test
    with pytest.raises(ExampleError, match="1 failed"):
        copy.try_out((), example.new_tests)


def test_an_addition_that_breaks_other_code_is_found(copy: ScratchCopy):
    module = copy.folder / "context_protection/core/summaries.py"
    module.write_text(module.read_text().replace("NESTED_CHARS = 1000", "OTHER_CHARS = 1000"))
    with pytest.raises(ExampleError, match="Undefined name `NESTED_CHARS`"):
        copy.try_out((), ["tests/test_versions.py"])


def test_tests_documentation_and_what_commands_write_are_not_counted():
    product = "telemetry/measurement.py"
    others = [
        "telemetry/migrations/0001_initial.py",
        "tests/telemetry/examples.py",
        "docs/engineers.md",
        ".env.example",
    ]
    assert counted([product, *others]) == {product}
