"""Hands the arguments of calls to telemetry, which masks and stores them off the hot path."""

from django.conf import settings

from gateway.dispatch.call import Call
from gateway.dispatch.response_cache import canonical
from telemetry import arguments
from telemetry.arguments import LONGEST, CallWithArguments, switches

are_kept = switches.are_kept


def keep(call: Call, operation: str, ended: float, answer: bytes = b"") -> None:
    """Does not block or raise. `operation`: its current name. `ended`: the same time as in the call's measurement.
    `answer`: the error sent to the client, if any."""
    keep_text(as_text(call), call.id, operation, call.caller.name, ended, answer)


def keep_text(text: str, call_id: str, operation: str, caller: str, ended: float, answer: bytes) -> None:
    if settings.TELEMETRY_ARGUMENT_DAYS:
        arguments.keep(
            CallWithArguments(ended, call_id, operation, caller, text if len(text) <= LONGEST else "", answer)
        )


def as_text(call: Call) -> str:
    """The arguments as JSON; "" if they are not JSON. The response cache has usually made this text already."""
    if call.key is not None:
        return call.key.arguments
    try:
        return canonical(call.arguments)
    except TypeError:
        return ""
