"""Names that an imported API and its tools cannot have, because they are taken."""

from collections.abc import Collection, Iterator

from gateway.catalog.catalog import catalogue
from gateway.connectors import connectors
from gateway.connectors.openapi import operations
from gateway.connectors.openapi.names import tool_name


def api_name_problem(name: str) -> str | None:
    """The reason why no API can be imported under this name, or None. Its tools would look like Sluice's own or another
    source's."""
    if name in {each.name for each in connectors()}:
        return f"{name} is a name of Sluice's own. Choose another, such as {name}_api."
    catalogue.refresh()
    imported_names = {each.name for each in operations.operations()}
    others = (each.name for each in catalogue if each.name not in imported_names)
    alike = next((each for each in others if each.startswith(f"{name}_")), None)
    if alike is None:
        return None
    return f"Tools of {name} would pass for others that are there already, such as {alike}. Choose another name."


def tool_name_problems(api: str, names: Collection[str], own: Collection[str]) -> Iterator[str]:
    """A sentence for each of an API's operation `names` whose tool name another tool has. `own`: names of its stored
    operations."""
    catalogue.refresh()
    stored = {tool_name(api, name) for name in own}
    for name in names:
        tool = tool_name(api, name)
        if tool not in stored and catalogue.find(tool) is not None:
            yield f"{tool} is the name of another tool. Choose another than {name}."
