"""The form of a response, by which the place of its rows is remembered."""

from gateway.connectors.openapi.response.forms import EXAMINED, ListForm, ObjectForm, form_of


def test_the_first_object_of_a_list_stands_for_all():
    assert form_of([None, "x", {"id": 1}, {"name": "y"}], 1) == ListForm(ObjectForm(("id",), (None,)))


def test_only_the_first_elements_of_a_list_are_examined():
    assert form_of(["x"] * EXAMINED + [{"id": 1}], 1) == form_of([], 1) == ListForm(None)
