"""Sends a test message over each ticked channel, now, and returns every result."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex

from telemetry.alerts import channels, messages, words
from telemetry.alerts.channels import Sent
from telemetry.models.alerts import AlertRule, Channel

ATTEMPTS = 3
PAUSE = 0.5  # seconds between attempts
LONGEST = 8.0  # seconds after which a channel gets no further attempt, because somebody waits for the page


@dataclass(frozen=True, slots=True)
class TrialResult:
    channel: Channel
    sent: Sent
    attempts: int

    @property
    def sentence(self) -> str:
        """ "Webhook bridge answered 500 after 3 attempts." """
        after = f" after {words.plural(self.attempts, 'attempt')}" if self.attempts > 1 else ""
        result = self.sent.result.removesuffix(".")
        joint = " " if result.startswith(("answered", "sent")) else ": "
        return f"{self.channel}{joint}{result}{after}."


def send_test(rule: AlertRule, ticked: Iterable[Channel], *, by: str) -> list[TrialResult]:
    message = messages.of_test(rule, by=by)
    return [_tried(channel, message) for channel in ticked]


def summary(results: list[TrialResult]) -> str:
    """ "Test sent to 2 of 3 channels." """
    if not results:
        return "No channel is ticked, so no test was sent."
    return f"Test sent to {sum(each.sent.ok for each in results)} of {words.plural(len(results), 'channel')}."


def _tried(channel: Channel, message: messages.Message) -> TrialResult:
    delivery, started = f"test-{token_hex(8)}", time.monotonic()
    for attempt in range(1, ATTEMPTS + 1):
        sent = channels.send(channel, message, deduplicate=delivery)
        if sent.ok or sent.is_final or attempt == ATTEMPTS or time.monotonic() - started > LONGEST:
            break
        time.sleep(PAUSE)
    return TrialResult(channel, sent, attempt)
