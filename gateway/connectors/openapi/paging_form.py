"""The form in which ops staff set and test how upstream pages a list."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django import forms

from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.document.paging import Paging, PagingStyle
from gateway.connectors.openapi.importer.forms import OptionalJson

RECOGNISED, NONE = "", "none"
STYLES = (
    (RECOGNISED, "As recognised"),
    (NONE, "It does not page"),
    (PagingStyle.OFFSET, "By the number of rows so far"),
    (PagingStyle.PAGE, "By the number of the page"),
    (PagingStyle.CURSOR, "By a cursor in the answer"),
    (PagingStyle.LAST_ID, "By the id of the last row"),
    (PagingStyle.NEXT_URL, "By an address in the answer"),
    (PagingStyle.LINK, "By a Link header"),
)
MISSING = {
    "position": "Enter the parameter that sets where a page begins.",
    "next": "Enter where the answer has it, such as meta.next_cursor.",
}
_TEXT = {"class": "vTextField", "autocomplete": "off", "spellcheck": "false"}


def _name(label: str, help_text: str = "") -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=False, max_length=100, widget=forms.TextInput(attrs=_TEXT)
    )


class PagingForm(forms.Form):
    style = forms.ChoiceField(choices=STYLES, required=False, label="How the next page is found")
    position = _name("Parameter of the position", "Such as offset, page, cursor or after.")
    start = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=1,
        label="First page or row",
        help_text="0 or 1, if the position is a number.",
    )
    size = _name("Parameter of the number of rows", "Such as limit. Empty: upstream decides.")
    size_default = forms.IntegerField(
        required=False, min_value=1, label="Rows per page without it", help_text="A page with fewer rows is the last."
    )
    size_maximum = forms.IntegerField(required=False, min_value=1, label="Maximum rows per page")
    next = _name("Path of the next cursor or address", "In the answer: meta.next_cursor, links.next.")
    has_more = _name("Path of the flag that more rows follow", "In the answer: has_more.")
    total = _name("Path of the number of all rows", "In the body: meta.total. In a header: header:x-total-count.")
    key = _name("Path of a row's id", "If it is not id: user.id.")
    backwards = _name("Parameter for rows before an id", "For lists that begin with their newest row: before.")
    rows = _name("Path of the rows", "In the answer: data.items. Empty: as recognised.")
    arguments = OptionalJson(
        required=False,
        label="Arguments of the test",
        help_text='As a tool gets them: {"owner": "octocat"}. They are not stored.',
    )

    def clean_arguments(self) -> dict[str, Any]:
        given = self.cleaned_data["arguments"]
        if given is not None and not isinstance(given, dict):
            raise forms.ValidationError('Expected an object of names and values: {"owner": "octocat"}.')
        return given or {}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        style = cleaned.get("style", RECOGNISED)
        if style not in (RECOGNISED, NONE):
            given = {name: cleaned.get(name, "") for name in MISSING}
            for name in Paging(PagingStyle(style), **given).missing:
                self.add_error(name, MISSING[name])
        return cleaned

    @property
    def setting(self) -> dict[str, Any] | None:
        """The value of `ImportedOperation.paging`."""
        cleaned = self.cleaned_data
        if cleaned["style"] in (RECOGNISED, NONE):
            return None if cleaned["style"] == RECOGNISED else {}
        names = (*(field.name for field in fields(Paging)), "rows")
        return {name: cleaned[name] for name in names if cleaned[name] not in (None, "")}


def initial(setting: Mapping[str, Any] | None, operation: DocumentedOperation) -> dict[str, Any]:
    """The paging that is set, or else the one that was recognised."""
    recognised = operation.paging.document() if operation.paging else {}
    chosen = RECOGNISED if setting is None else setting.get("style", NONE)
    return {**(setting or recognised), "style": chosen}
