"""The names of an imported API's tools."""

import hashlib
from collections.abc import Container

LONGEST = 64  # characters that clients accept


def tool_name(api: str, operation: str) -> str:
    """ "acme_list_customers": the API's name, then the operation's. A name that is too long ends with a digest."""
    name = f"{api}_{operation}"
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def free(name: str, taken: Container[str]) -> str:
    """The name, with a number appended if it is taken."""
    if name not in taken:
        return name
    return next(each for number in range(2, 100_000) if (each := f"{name[:50]}_{number}") not in taken)
