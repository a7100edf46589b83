"""The suites and the Inspector, as commands of the pinned Node."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.judging import Verdict, expected_of, judge, results_in
from tests.e2e.serving import ROOT, Serving

PACKAGES = Path(__file__).with_name("node_modules")
LAUNCHER = PACKAGES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
SUITE_SECONDS = 300
INSPECTOR_SECONDS = 60


@dataclass(frozen=True)
class Suite:
    """`scenarios` is how many it has, those of extensions left out: fewer would mean that it did not run."""

    version: str
    protocol: str
    package: str
    arguments: tuple[str, ...]
    scenarios: int

    @property
    def name(self) -> str:
        return f"{self.version} {' '.join(self.arguments).removeprefix('--')}"


SUITES = (
    Suite("0.1.16", "2025-11-25", "conformance-0.1", ("--suite", "all"), 32),
    Suite("0.2.0-alpha.12", "2025-11-25", "conformance-0.2", ("--requirements", "2025-11-25"), 33),
    Suite("0.2.0-alpha.12", "2026-07-28", "conformance-0.2", ("--requirements", "2026-07-28"), 40),
)

# What a server is judged by that has no fixtures. Some others would pass too, but only because any answer passes.
WITHOUT_FIXTURES = {
    "2025-11-25": ("server-initialize", "ping", "tools-list", "tools-call-error", "dns-rebinding-protection"),
    "2026-07-28": (
        "server-stateless",
        "tools-list",
        "tools-call-error",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "input-required-result-unsupported-methods",
    ),
}

# One line for each door over HTTP, as the Inspector is told of it; the fixtures' doors are in server.py.
WAYS = {
    "http": ("/mcp", "--transport", "http"),
    "http, modern": ("/mcp", "--transport", "http", "--protocol-era", "modern"),
    "sse": ("/mcp/sse", "--transport", "sse"),
}


def node() -> str:
    """The pinned Node, where it exists for this machine, else the machine's own, which must be 22.19 or newer."""
    pinned = next(PACKAGES.glob("node-*/bin/node"), None)
    found = str(pinned) if pinned else shutil.which("node")
    if found is None or not LAUNCHER.exists():
        sys.exit("The suites are not installed. Run: make conformance")
    return found


def run_suite(suite: Suite, url: str, endpoint: str, output: Path, only: Collection[str] | None = None) -> Verdict:
    """Runs a suite whole, and judges it, or only the scenarios that are named. Its words and results go to `output`."""
    script = PACKAGES / suite.package / "dist/index.js"
    command = [node(), str(script), "server", "--url", url, *suite.arguments, "--output-dir", str(output)]
    status = _run(command, output, SUITE_SECONDS)
    expected = expected_of(endpoint, suite.name, suite.protocol)
    verdict = judge(results_in(output), expected, suite.scenarios if only is None else only)
    if status and only is None and not expected and not verdict.wrong:  # it knows better than its results say
        return Verdict(verdict.scenarios, verdict.passed, verdict.excused, (f"the suite ended with status {status}",))
    return verdict


def inspect_http(way: str, base: str, key: str, output: Path) -> Verdict:
    path, *arguments = WAYS[way]
    return _inspect([base + path, *arguments, "--header", f"Authorization: Bearer {key}"], output)


def inspect_stdio(era: str, product: Serving, output: Path) -> Verdict:
    """Starts the server as Claude Desktop does: `manage.py mcp`, with the key in its environment."""
    given = {"SLUICE_API_KEY": product.key, "DATA_DIR": product.environment["DATA_DIR"]}
    environment = [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    return _inspect([sys.executable, "manage.py", "mcp", *environment, "--protocol-era", era], output)


def _inspect(target: list[str], output: Path) -> Verdict:
    """Lists the tools, strictly: the Inspector fails where a client would not understand a tool's schema."""
    listed = output / "tools.json"
    command = [node(), str(LAUNCHER), "--cli", *target, "--method", "tools/list", "--strict", "--output", str(listed)]
    status = _run(command, output, INSPECTOR_SECONDS)
    tools = json.loads(listed.read_text())["tools"] if listed.exists() else []
    wrong = [f"it ended with status {status}"] if status else [] if tools else ["it has seen no tools"]
    return Verdict(1, int(not wrong), 0, tuple(wrong))


def _run(command: list[str], output: Path, seconds: int) -> int:
    """The command's exit status; all that it says is in log.txt. Home is `output`: nobody's settings matter."""
    output.mkdir(parents=True)
    with (output / "log.txt").open("w") as log:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(output)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    return done.returncode
