"""The log of November's syncs, in runs of about twenty entries. ERRORS of the runs have an error.

The first 200 lines are 200 entries, without a stack trace.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from gateway.connectors.hostaway.sample.bookings import FIRST_RESERVATION_ID
from gateway.connectors.hostaway.sample.homes import HOMES
from gateway.connectors.hostaway.sample.prose import Writer, lines

LINES = 10_000
ERRORS = 15

_SEED = 11_2026
_FIRST_RUN = datetime(2026, 11, 1, 0, 0, 12)
_BETWEEN_RUNS = timedelta(minutes=53)
_RUN_OF_FIRST_ERROR = 17
_RUNS_BETWEEN_ERRORS = 32

_STARTS = lines("""
run {run} started by the schedule, looking for changes since the last run
run {run} started by hand, looking for changes of the last {few} hours
run {run} started after a webhook, {few} reservations were announced
""")

_INFO = lines("""
page {few} of reservations read, {many} rows, {few} of them changed
page {few} of transactions read, {many} rows, none of them changed
reservation {reservation} updated, arrival moved by {few} nights
reservation {reservation} updated, {few} guests instead of {few}
reservation {reservation} updated, host note has {many} more characters
reservation {reservation} read for the first time, {few} nights long
reservation {reservation} cancelled by the guest, calendar opened
reservation {reservation} unchanged, {few} finance lines compared
listing {listing} has {few} new photos, captions were read again
listing {listing} unchanged, all {few} texts compared in {many} ms
listing {listing} has a new nightly price from {date} on
calendar of listing {listing} merged, {many} days open until spring
calendar of listing {listing} has no conflict in the next {few} months
message thread of {reservation} has {few} new messages, bodies kept
review for listing {listing} arrived, {stars} stars, no answer yet
webhook for {reservation} came {few} seconds before its own parent
charge for {reservation} settled, payout expected on {date}
cache entry of {reservation} replaced, the old one was {many} minutes old
{many} rows written in one transaction, {few} indexes touched
search index took {many} documents in {many} milliseconds
""")

_DEBUG = lines("""
cursor moved behind {reservation}, {many} rows remain to be read
answer of the upstream has {many} kilobytes, {few} keys are new to us
token of the account is valid for another {many} weeks, so not renewed
budget of the account: {few} of 20 calls used in this window
connection reused for the {few}th time, {many} ms to the first byte
skipped {few} rows that did not change since they were last read
""")

_WARN = lines("""
upstream said 429 on page {few}, waiting {few} s before the next try
reservation {reservation} names a listing we do not know, kept aside
reservation {reservation} arrives before it was made, taken as it is
count of the upstream fell by {few} between two pages, page read again
listing {listing} answered after {few} seconds, slower than usual
calendar of listing {listing} shows two bookings for the night of {date}
webhook for {reservation} was delivered {few} times, kept once
charge for {reservation} still pending {many} days after the stay
field of reservation {reservation} changed its type from text to number
""")

_ENDS = lines("""
run {run} finished, {many} rows read and {few} of them changed
run {run} finished in {many} seconds, next one within the hour
run {run} finished without changes, {many} rows compared
""")

# The error, and the last line of its stack trace.
_ERRORS = (
    (
        "reservation {reservation} could not be stored, row left as it was",
        "IntegrityError: duplicate key value violates unique constraint",
    ),
    (
        "page {few} of reservations was not JSON, run continues with the next",
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ),
    (
        "calendar of listing {listing} could not be merged, try again next run",
        "ValueError: time data '0000-00-00' does not match the format of a date",
    ),
    (
        "message thread of {reservation} left out, it belongs to no listing",
        "KeyError: 'listingMapId'",
    ),
    (
        "connection to the upstream was reset while page {few} was read",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
    ),
    (
        "page {few} of transactions did not come, the rest waits for the next run",
        "TimeoutError: no byte from the upstream for 30 seconds",
    ),
)

_FRAMES = (
    'File "sync/run.py", line 88, in run_once',
    'File "sync/pages.py", line 141, in read_pages',
    'File "sync/reservations.py", line 57, in store_changed',
    'File "sync/merge.py", line 203, in merge_rows',
    'File "hostaway/client.py", line 119, in get_page',
    'File "hostaway/decode.py", line 34, in decode_body',
    'File "store/rows.py", line 76, in upsert',
)

_WRITER = Writer(
    {
        "few": tuple(str(number) for number in range(2, 10)),
        "stars": ("3", "4", "5"),
        "many": tuple(str(number) for number in range(11, 98)),
        "date": tuple(f"2026-12-{day:02d}" for day in range(1, 32)),
        "listing": tuple(str(home.id) for home in HOMES),
        # Only bookings that existed before the month began.
        "reservation": tuple(str(FIRST_RESERVATION_ID + number) for number in range(80, 500)),
    }
)
_PARTS = {"reservation": "sync.reservations", "listing": "sync.listings", "calendar": "sync.calendar"}


def sync_log() -> str:
    """The log as one text that ends with a newline. The lines of a stack trace are indented."""
    rng = Random(_SEED)
    written: list[str] = []
    run = 0
    while len(written) < LINES:
        written.extend(_run(rng, run))
        run += 1
    return "\n".join(written[:LINES]) + "\n"


def _run(rng: Random, run: int) -> Iterator[str]:
    """The lines of one run. Its entries are seconds apart."""
    moment = _FIRST_RUN + run * _BETWEEN_RUNS
    name = str(4100 + run)
    yield _entry(rng, moment, "INFO", rng.choice(_STARTS), name)
    for _ in range(rng.randint(16, 21)):
        moment += timedelta(seconds=rng.randint(1, 9))
        level, bank = rng.choices((("INFO", _INFO), ("DEBUG", _DEBUG), ("WARN", _WARN)), (72, 18, 10))[0]
        yield _entry(rng, moment, level, rng.choice(bank), name)
    moment += timedelta(seconds=rng.randint(1, 9))
    if _has_error(run):
        sentence, cause = rng.choice(_ERRORS)
        yield _entry(rng, moment, "ERROR", sentence, name)
        yield from _trace(rng, cause)
        moment += timedelta(seconds=rng.randint(1, 9))
    yield _entry(rng, moment, "INFO", rng.choice(_ENDS), name)


def _has_error(run: int) -> bool:
    since_first = run - _RUN_OF_FIRST_ERROR
    return since_first % _RUNS_BETWEEN_ERRORS == 0 and 0 <= since_first // _RUNS_BETWEEN_ERRORS < ERRORS


def _entry(rng: Random, moment: datetime, level: str, sentence: str, run: str) -> str:
    first_word = sentence.partition(" ")[0]
    part = _PARTS.get(first_word, "sync.run")
    return f"{moment.isoformat()}Z {level:5} {part} {_WRITER.fill(rng, sentence, run=run)}"


def _trace(rng: Random, cause: str) -> Iterator[str]:
    """Four to nine lines: a heading, the frames with the outermost first, and the cause."""
    yield "    Traceback (most recent call last):"
    depth = rng.randint(2, len(_FRAMES))
    for position in sorted(rng.sample(range(len(_FRAMES)), depth)):
        yield f"      {_FRAMES[position]}"
    yield f"    {cause}"
