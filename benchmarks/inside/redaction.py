"""The cost of redact() on data with few or no secrets, like most responses."""

from collections.abc import Sequence
from typing import Any

import orjson

from benchmarks.inside.measurement import milliseconds
from context_protection.core.redaction import redact, redact_text

PROSE = (
    "Breakfast starts at 8:30; dinner for 2 costs 45 EUR. The front door is painted green, and there is a garage next "
    "to the house for 2 cars. It's a 10 minute walk to the station. In 2019 the house got an alarm and fast internet. "
)
LINE = "2026-11-20T12:00:{:02}Z INFO sync.reservations reservation {} updated, {} guests, {} ms\n"
HOSTILE = "code: code: code: 1 "


def by_kind(upstream: Sequence[dict[str, Any]], runs: int) -> None:
    """Times records, and texts of about a million characters; the hostile text is made of near misses."""
    log = "".join(LINE.format(n % 60, 40_000_000 + n, n % 9, n % 977) for n in range(11_000))
    _print("500 records", len(orjson.dumps(upstream)), milliseconds(lambda: redact(upstream), runs)[0])
    for words, text in (("prose", PROSE * 4_500), ("log", log), ("hostile", HOSTILE * 50_000)):
        _print(words, len(text), milliseconds(lambda t=text: redact_text(t), 3)[0])  # type: ignore[misc]


def _print(words: str, size: int, cpu: float) -> None:
    print(f"  {words:12} {size:10,} characters {cpu:9.2f} ms CPU {size / cpu / 1000:7.2f} MB/s")
