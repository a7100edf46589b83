"""The calling program, as it names itself: by an MCP client's clientInfo, or by the first product of a User-Agent."""

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Program:
    """`protocol`: the revision of MCP that it speaks; empty over REST."""

    name: str = ""
    version: str = ""
    protocol: str = ""


UNKNOWN = Program()
LONGEST = 200  # characters of a name or version that are read


@lru_cache(maxsize=1024)
def program(name: str, version: str, protocol: str) -> Program:
    """Cached, so that all calls of a program share one object."""
    return Program(name[:LONGEST], version[:LONGEST], protocol)


def of_user_agent(agent: str, protocol: str = "") -> Program:
    """The program of a User-Agent header: `curl/8.5.0 (linux)` is curl 8.5.0."""
    name, _, version = agent[:LONGEST].partition(" ")[0].partition("/")
    return program(name, version, protocol)
