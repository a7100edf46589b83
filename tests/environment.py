"""The environment of a test run, set before Django reads it: a data directory of its own, no pollers."""

import os
import tempfile

os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="sluice-tests-"))
os.environ["SHARED_REVISIONS"] = "false"
os.environ["EMAIL_URL"] = "memorymail://"
os.environ["AUDIT_SHARE"] = "0"  # an audit thread cannot see the transaction that a test lives in
os.environ["ANSWER_CACHE_MB"] = "0"  # a test changes the store inside its transaction, which nobody is told of
for name in ("HOST", "PORT", "MCP_TRANSPORT", "MCP_PORT", "SLUICE_API_KEY", "DEBUG", "ANTHROPIC_API_KEY"):
    os.environ.pop(name, None)
