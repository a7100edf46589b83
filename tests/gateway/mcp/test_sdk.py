"""The private functions of the MCP SDK that `socket_session` and `connection_watcher` use. pyproject.toml pins its
minor version."""

import inspect
import tomllib
from pathlib import Path

import pytest
from mcp.server import runner
from mcp.server.session import ServerSession
from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_the_pinned_minor_version_is_the_one_that_was_read():
    requirements = [Requirement(each) for each in tomllib.loads(PROJECT.read_text())["project"]["dependencies"]]
    allowed = next(each.specifier for each in requirements if each.name == "mcp")
    assert allowed.contains("2.3.9")
    assert not allowed.contains("2.4.0")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("_serve_legacy_stream", {"lifespan_state", "session_id", "init_options", "raise_exceptions"}),
        ("_serve_modern_stream", {"lifespan_state", "raise_exceptions"}),
    ],
)
def test_the_stream_runners_take_what_a_socket_passes(name: str, options: set[str]):
    parameters = inspect.signature(getattr(runner, name)).parameters
    assert options <= parameters.keys()
    assert list(parameters)[:3] == ["server", "read_stream", "write_stream"]


def test_a_session_has_the_connection_that_tells_when_it_is_closed():
    assert "_connection" in inspect.getsource(ServerSession.__init__)
