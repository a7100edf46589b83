"""Regular expressions that are compiled at their first use."""

import re
from typing import Any


class LatePattern:
    """A large pattern, compiled at its first use: compiling it takes 50 ms, which would delay the start of a
    process."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        """A method of the compiled pattern. Python calls this only for attributes that are not set yet."""
        method = getattr(re.compile(self.pattern), name)
        setattr(self, name, method)
        return method
