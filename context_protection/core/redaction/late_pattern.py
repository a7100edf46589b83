"""Regular expressions that are compiled at their first use."""

import re
from typing import Any


class LatePattern:
    """A large pattern, which takes 50 ms to compile: a process that starts does not wait for it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        """A method of the compiled pattern. Python asks only for attributes that are not set yet."""
        method = getattr(re.compile(self.pattern), name)
        setattr(self, name, method)
        return method
