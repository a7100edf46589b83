"""What staff enter as JSON is bounded as what clients send is, and an error of the form says so."""

import pytest
from django import forms

from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.document import documents
from gateway.connectors.openapi.importer.forms import OptionalJson


class Form(forms.Form):
    paging = OptionalJson(required=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [("[" * 101 + "]" * 101, "100 levels"), ("[" * 100_000, "10,000"), ("[1" + ",1" * 10_000 + "]", "10,000")],
)
def test_json_that_is_too_large_is_an_error_of_its_field(text: str, said: str):
    form = Form({"paging": text})
    assert said in form.errors["paging"][0]
    assert text in str(form["paging"])  # it can be corrected where it stands


def test_other_json_is_read_and_what_is_none_can_be_corrected():
    assert Form({"paging": '{"a": [1]}'}).is_valid()
    broken = Form({"paging": "{oh"})
    assert not broken.is_valid()
    assert "{oh" in str(broken["paging"])


@pytest.mark.parametrize("levels", [251, 900, 20_000])
def test_a_document_of_too_many_levels_is_refused(levels: int):
    text = '{"openapi":"3.0.3","info":{"title":"x","version":"1"},"paths":{},"x-a":%s}' % ("[" * levels + "]" * levels)
    with pytest.raises(InvalidArgument, match="nested"):
        documents.parse(text.encode())
