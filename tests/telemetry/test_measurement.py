"""A figure is declared once, and one that is forgotten somewhere fails at once."""

from datetime import datetime
from typing import Annotated, Any, NamedTuple

import pytest
from django.db import connection

from telemetry import admin, counters, measures, storage
from telemetry.figure import EMPTY, Figure, Group, Metric, Unit, figures_of
from telemetry.measurement import FIGURES, Measurement
from telemetry.models import TelemetryRecord
from telemetry.series import Family
from tests.telemetry.examples import NOON, a_call, stored


def declared(annotation: Any) -> Any:
    """A NamedTuple with one field, so annotated."""
    return NamedTuple("Declared", [("fetched", annotation)])


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        (int, "The field fetched is not declared"),
        (Annotated[int, "rows"], "The field fetched is not declared"),
        (Annotated[list, Figure("fetched", Group.ANSWER)], "no column for the type"),
        (Annotated[int, Figure("fetched", Group.ANSWER)], "needs a unit"),
        (Annotated[bool, Figure("fetched", Group.ANSWER, unit=Unit.COUNT)], "needs a unit"),
        (Annotated[str, Figure("fetched", Group.ANSWER)], "needs a max_length"),
        (
            Annotated[str, Figure("fetched", Group.ANSWER, max_length=9, metric=Metric("m", "M."))],
            "cannot be added up",
        ),
        (
            Annotated[int, Figure("fetched", Group.ANSWER, unit=Unit.COUNT, tile="Fetched")],
            "needs is_totalled",
        ),
        (Annotated[bool, Figure("fetched", Group.ANSWER, is_totalled=True)], "must be a number"),
    ],
)
def test_an_incomplete_declaration_fails_when_it_is_imported(annotation: Any, complaint: str):
    with pytest.raises(TypeError, match=complaint):
        figures_of(declared(annotation))


def test_whoever_measures_a_call_has_to_give_every_figure():
    complete = a_call()._asdict()
    assert Measurement(**complete) == a_call()
    for name in Measurement._fields:
        with pytest.raises(TypeError, match=name):
            Measurement(**{other: value for other, value in complete.items() if other != name})


@pytest.mark.django_db
def test_every_figure_is_stored_and_read_again():
    samples = {str: "sample", int: 7, float: 7.5, bool: True, datetime: NOON}
    call = Measurement.with_defaults(**{name: samples[figure.type] for name, figure in FIGURES.items()})
    call = call._replace(outcome="paginated", chunking_used=False)
    stored(call)
    assert TelemetryRecord.objects.get().measurement == call
    with connection.cursor() as cursor:
        columns = {each.name for each in connection.introspection.get_table_description(cursor, storage.CALLS.table)}
    assert columns == {"id", *storage.COLUMNS}


def test_every_type_of_a_figure_can_be_put_right():
    assert storage.SOUND.keys() == EMPTY.keys()


def test_every_figure_is_on_the_admins_page_of_a_call():
    shown = [field for _, options in admin.TelemetryRecordAdmin.fieldsets for field in options["fields"]]
    for name in FIGURES:
        assert admin.SHOWN_BY.get(name, admin.COLUMNS[name]) in shown


def test_every_metric_has_a_counter_and_every_total_a_sum():
    counted = {figure.name for figure in counters.FIGURE_COUNTERS}
    assert counted == {name for name, figure in FIGURES.items() if figure.metric}
    assert all(isinstance(figure.counter, Family) for figure in counters.FIGURE_COUNTERS)
    assert measures.TOTALS.keys() == {f"total_{name}" for name, figure in FIGURES.items() if figure.is_totalled}


@pytest.mark.django_db
def test_any_transport_is_stored_and_can_be_filtered_by(admin_client: Any):
    stored(a_call(transport="carrier-pigeon"), a_call(transport="rest"))
    listing = "/admin/telemetry/telemetryrecord/?range=any"
    assert "door__exact=carrier-pigeon" in admin_client.get(listing).content.decode()
    for parameter in ("door__exact", "door"):
        page = admin_client.get(f"{listing}&{parameter}=carrier-pigeon").content.decode()
        assert '<dd class="value">1</dd>' in page
