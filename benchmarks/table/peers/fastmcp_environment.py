"""Installs FastMCP into its own environment, because its requirements may conflict with Sluice's."""

import subprocess
import sys
from pathlib import Path

from benchmarks.processes import ROOT

LOCK = ROOT / "requirements-peers.lock"
ENVIRONMENT = ROOT / ".venv" / "peers"


def python(environment: Path = ENVIRONMENT) -> Path:
    """The interpreter of the environment, which is installed first if it is missing or the lock has changed. Raises
    subprocess.CalledProcessError."""
    interpreter, stamp = environment / "bin" / "python", environment / "installed.lock"
    if not stamp.exists() or stamp.read_bytes() != LOCK.read_bytes():
        print("Installing FastMCP (about a minute, once) …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", str(LOCK)], check=True)
        stamp.write_bytes(LOCK.read_bytes())
    return interpreter
