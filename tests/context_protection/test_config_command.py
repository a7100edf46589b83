"""manage.py config: files for pipelines, and the admin's budgets in and out of files."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from django.core.management import CommandError, call_command

from context_protection.layers.file.schema import file_schema
from context_protection.models import TokenBudget
from tests.context_protection.layers.file.test_layer import INVALID, WHOLE

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("config", *arguments, stdout=output, stderr=output)
    return output.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sluice.yaml"
    path.write_text(WHOLE)
    return path


def test_a_valid_file_is_checked_with_what_it_would_change(file: Path):
    said = run("check", str(file))
    assert "all operations: hardCap: 12,000 → 9,000" in said
    assert "list_bookings: defaultPageSize: 50 → 100" in said
    assert "get_listing: hardCap" not in said, "it differs no more than all operations"
    assert said.endswith(f"{file} is valid.\n")
    assert not TokenBudget.objects.exists()


def test_an_invalid_file_is_named_with_its_lines(file: Path):
    file.write_text("global:\n  hardCaps: 5\n  chunking: 5\n")
    with pytest.raises(CommandError) as refused:
        run("check", str(file))
    first, second = str(refused.value).splitlines()
    assert first == f"{file}:2: global.hardCaps: there is no setting 'hardCaps'. Did you mean hardCap?"
    assert second.startswith(f"{file}:3: global: chunking is 5")
    assert refused.value.returncode == 1


def test_a_file_that_does_not_exist_is_named_without_advice_for_the_running_server(tmp_path: Path):
    path = tmp_path / "none.yaml"
    with pytest.raises(CommandError) as refused:
        call_command("config", "check", str(path))
    assert str(refused.value) == f"{path} cannot be read (No such file or directory)."


def test_a_name_that_nothing_has_now_is_a_warning(file: Path):
    file.write_text("operations: {get_bookin: {hardCap: 9000}}\n")
    assert f"{file}:1: warning: There is no operation get_bookin now. Did you mean get_booking?" in run(
        "check", str(file)
    )


def test_a_file_that_contradicts_the_admin_is_invalid(file: Path):
    TokenBudget.objects.create(operation="list_bookings", token_budget_threshold=9500)
    with pytest.raises(CommandError, match="applies to list_bookings"):
        run("check", str(file))


@pytest.mark.parametrize("name", ["budgets.yaml", "budgets.json"])
def test_export_and_import_give_the_same_bytes(file: Path, tmp_path: Path, name: str):
    run("import", str(file))
    exported, again = tmp_path / name, tmp_path / f"again-{name}"
    run("export", str(exported))
    before = TokenBudget.objects.scoped()
    TokenBudget.objects.all().delete()
    TokenBudget.objects.create(operation="list_listings", hard_cap=9000)
    run("import", str(exported))
    run("export", str(again))
    assert again.read_bytes() == exported.read_bytes()
    assert TokenBudget.objects.scoped() == before
    assert len(before) == 8


def test_an_import_shows_the_changes_and_a_dry_run_saves_none(file: Path):
    TokenBudget.objects.create(operation="", hard_cap=8000, chunk_size=50)
    said = run("import", str(file), "--dry-run")
    assert "all operations: hardCap: 8,000 → 9,000" in said
    assert "all operations: chunkSize: 50 → -" in said
    assert [each.hard_cap for each in TokenBudget.objects.all()] == [8000]
    run("import", str(file))
    budget = TokenBudget.objects.get(operation="", connector="", caller="")
    assert (budget.hard_cap, budget.chunk_size, budget.chunking) == (9000, None, False)
    assert budget.history.first().history_change_reason == "config import sluice.yaml"
    assert "Saved 0 changes." in run("import", str(file))


def test_a_single_change_is_counted_as_one(file: Path):
    file.write_text("global: {hardCap: 9000}\n")
    assert "Nothing was saved: 1 change shown." in run("import", str(file), "--dry-run")
    assert "Saved 1 change." in run("import", str(file))


def test_a_file_that_cannot_be_written_is_named_with_the_reason(tmp_path: Path):
    path = tmp_path / "missing" / "sluice.yaml"
    with pytest.raises(CommandError) as refused:
        run("export", str(path))
    assert str(refused.value) == f"{path} cannot be written (No such file or directory)."


def test_an_import_that_contradicts_itself_is_refused(file: Path):
    file.write_text("operations: {list_bookings: {hardCap: 1000}}\n")
    with pytest.raises(CommandError, match="below tokenBudgetThreshold"):
        run("import", str(file))
    assert not TokenBudget.objects.exists()


# -- The schema -------------------------------------------------------------------------------------


def accepts(document: Any) -> bool:
    return jsonschema_rs.is_valid(file_schema(), document)


def test_the_schema_accepts_what_the_reader_accepts():
    assert json.loads(run("schema")) == file_schema()
    assert accepts(yaml.safe_load(WHOLE))
    assert accepts({})


@pytest.mark.parametrize(
    "text",
    [
        text
        for text in INVALID
        if text.startswith(("global: {", "operations: {", "profiles", "globl")) and "*" not in text
    ],
    ids=lambda text: text[:40],
)
def test_the_schema_rejects_what_the_reader_rejects(text: str):
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return
    if text == "global: {hardCap: 9000, hardCap: 9001}\n":  # JSON Schema cannot see it
        return
    assert not accepts(document)


@pytest.mark.parametrize(
    ("scope", "has_fields_of_one", "may_withhold"),
    [
        ({"global": ...}, False, True),
        ({"connectors": {"crm": ...}}, False, True),
        ({"operations": {"list_*": ...}}, False, False),
        ({"operations": {"list_notes": ...}}, True, False),
        ({"callers": {"desk": {"global": ...}}}, False, True),
    ],
    ids=str,
)
def test_a_scope_has_its_own_settings_and_no_others(scope: Any, has_fields_of_one: bool, may_withhold: bool):
    assert accepts(_filled(scope, {"hardCap": 9000}))
    assert accepts(_filled(scope, {}))
    assert accepts(_filled(scope, {"summaryFields": "id"})) == has_fields_of_one
    assert accepts(_filled(scope, {"sections": "money=price"})) == has_fields_of_one
    assert accepts(_filled(scope, {"withheldFields": "note"})) == may_withhold
    assert not accepts(_filled(scope, {"chunksize": 5}))


def _filled(scope: Any, settings: dict[str, Any]) -> Any:
    """The scope, with these settings in place of `...`."""
    if scope is ...:
        return settings
    return {name: _filled(value, settings) for name, value in scope.items()}
