"""Our names for the tools of other servers."""

import hashlib
import re
from collections.abc import Collection, Sequence

LONGEST_NAME = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def named(server: str, tools: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Our names for the tools, in their order: `<server>_<tool>`, unique, at most LONGEST_NAME legal characters. A name
    that is too long or in use ends with a hash."""
    names: dict[str, str] = {}
    names_to_keep_first = sorted(tools, key=lambda tool: (bool(_ILLEGAL.search(tool)), tool))
    for tool in names_to_keep_first:
        name = f"{server}_{_ILLEGAL.sub('_', tool)}"
        if len(name) > LONGEST_NAME or name in taken or name in names.values():
            ending = hashlib.sha256(f"{server} {tool}".encode()).hexdigest()[:8]
            name = f"{name[: LONGEST_NAME - 9]}_{ending}"
        names[tool] = name
    return [names[tool] for tool in tools]
