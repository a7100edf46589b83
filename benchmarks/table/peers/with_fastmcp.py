"""FastMCP's `from_openapi`: the same document, stateless, JSON. Run by an interpreter that has FastMCP.

PYTHON with_fastmcp.py DOCUMENT PORT
"""

import json
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP

document = json.loads(Path(sys.argv[1]).read_text())
client = httpx2.AsyncClient(base_url=document["servers"][0]["url"], limits=httpx2.Limits(max_connections=100))
server = FastMCP.from_openapi(openapi_spec=document, client=client)
server.run(
    transport="http", host="127.0.0.1", port=int(sys.argv[2]), stateless_http=True, json_response=True,
    show_banner=False, log_level="WARNING",
)  # fmt: skip
