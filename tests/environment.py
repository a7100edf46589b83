"""The environment of a test run, set before Django reads it: a data directory of its own, no pollers."""

import atexit
import os
import shutil
import tempfile

from tests import shared as shared  # before workers start, which find the directory of the run in their environment
from tests.simulators.nsip import nsip_simulator

# Each process of a run has its own: what one bumps there, calls of another would obey in the midst of a test.
data_dir = tempfile.mkdtemp(prefix="sluice-tests-")
os.environ["DATA_DIR"] = data_dir
os.environ["SHARED_REVISIONS"] = "false"
os.environ["EMAIL_URL"] = "memorymail://"
os.environ["AUDIT_SHARE"] = "0"  # an audit thread cannot see the transaction that a test lives in
# NSIP's tools are there by default: whoever calls them meets a simulator.
nsip = nsip_simulator()
os.environ["NSIP_BASE_URL"] = nsip.__enter__().url


def clean_up(owner: int = os.getpid()) -> None:
    """Not in a forked child: the simulator's thread is not there, so stopping it would wait forever."""
    if os.getpid() == owner:
        nsip.__exit__(None, None, None)
        shutil.rmtree(data_dir, ignore_errors=True)


atexit.register(clean_up)
for name in (
    "HOSTAWAY_ACCOUNT_ID",
    "HOSTAWAY_API_SECRET",
    "HOSTAWAY_WEBHOOK_SECRET",
    "MCP_SERVERS_FILE",
    "PROJECT_ROOTS",
    "PROJECT_SYNC_SECONDS",
    "CODEBASE_CPU_PRICE",
    "CODEBASE_INDEX",
    "CODEBASE_MODEL",
    "CODEBASE_MODEL_NAME",
    "CODEBASE_MODEL_INPUT_PRICE",
    "CODEBASE_MODEL_OUTPUT_PRICE",
    "CODEBASE_MODEL_MAX_TOKENS",
    "CODEBASE_MODEL_SECONDS",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "CONFIG_FILE",
):
    os.environ.pop(name, None)
os.environ.pop("ALLOW_PRIVATE_UPSTREAMS", None)
for name in ("CACHE_MB", "ANSWER_CACHE_MB", "HOST", "PORT", "MCP_TRANSPORT", "MCP_PORT", "SLUICE_API_KEY", "DEBUG"):
    os.environ.pop(name, None)
