"""The figures of several processes as those of one."""

from dataclasses import replace

from gateway.pages.sums import _merged, summed
from gateway.upstreams.client import UpstreamState

ONE = b"""# HELP sluice_calls_total Calls answered.
# TYPE sluice_calls_total counter
sluice_calls_total{operation="a b"} 3.0
# HELP sluice_telemetry_lag_seconds Age of the oldest call not stored yet.
# TYPE sluice_telemetry_lag_seconds gauge
sluice_telemetry_lag_seconds 0.25
# HELP sluice_upstream_breaker 1 for the state of the circuit breaker.
# TYPE sluice_upstream_breaker gauge
sluice_upstream_breaker{state="open",upstream="acme"} 1.0
"""
OTHER = b"""# HELP sluice_telemetry_lag_seconds Age of the oldest call not stored yet.
# TYPE sluice_telemetry_lag_seconds gauge
sluice_telemetry_lag_seconds 2.0
# HELP sluice_calls_total Calls answered.
# TYPE sluice_calls_total counter
sluice_calls_total{operation="a b"} 4.0
sluice_calls_total{operation="c"} 1.0
# HELP sluice_upstream_breaker 1 for the state of the circuit breaker.
# TYPE sluice_upstream_breaker gauge
sluice_upstream_breaker{state="open",upstream="acme"} 1.0
"""


def test_counters_are_added_and_a_state_is_no_sum():
    assert summed([ONE, OTHER]).decode() == (
        "# HELP sluice_calls_total Calls answered.\n"
        "# TYPE sluice_calls_total counter\n"
        'sluice_calls_total{operation="a b"} 7.0\n'
        'sluice_calls_total{operation="c"} 1.0\n'
        "# HELP sluice_telemetry_lag_seconds Age of the oldest call not stored yet.\n"
        "# TYPE sluice_telemetry_lag_seconds gauge\n"
        "sluice_telemetry_lag_seconds 2.0\n"
        "# HELP sluice_upstream_breaker 1 for the state of the circuit breaker.\n"
        "# TYPE sluice_upstream_breaker gauge\n"
        'sluice_upstream_breaker{state="open",upstream="acme"} 1.0\n'
    )


def test_an_upstream_is_as_the_worst_of_its_states():
    one = UpstreamState("acme", "closed", 10.0, None, "", 7, calls=3, hits=1, misses=1)
    other = replace(one, breaker="open", last_success_at=5.0, last_failure_at=9.0, last_failure="upstream_failed")
    (both,) = _merged([one, replace(other, rate_left=2, calls=4)])
    assert (both.breaker, both.calls, both.hits, both.rate_left) == ("open", 7, 2, 2)
    assert (both.last_success_at, both.last_failure_at, both.last_failure) == (10.0, 9.0, "upstream_failed")
