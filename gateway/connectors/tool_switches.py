"""The checkbox in the admin that switches a tool on or off. A script reads its attributes, and warns if the tool list
would no longer fit its budget."""

from typing import Any

from django.forms import ModelForm


class ToolSwitchForm(ModelForm):  # type: ignore[type-arg]  # no generic at run time
    """Base form for models of tools, which have the fields `enabled`, `is_gone` and `tokens`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tool = self.instance
        if tool.pk is not None and not tool.is_gone and "enabled" in self.fields:
            was_on = {"data-was-on": ""} if tool.enabled else {}
            self.fields["enabled"].widget.attrs |= {"data-tokens": tool.tokens, **was_on}
