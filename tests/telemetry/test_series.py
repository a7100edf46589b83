"""The series of calls are written as Prometheus's own client writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from telemetry.series import Family, HistogramFamily

LIMITS = (0.01, 0.1, 1, 300)
names = st.text(min_size=1, max_size=8)
numbers = st.floats(0, 1e18)


@given(st.lists(st.tuples(names, names, numbers), max_size=8))
def test_a_counter_and_a_gauge_are_written_as_by_the_client_library(added):
    registry = CollectorRegistry()
    theirs = [Counter("calls", "Calls.", ("tool", "kind"), registry=registry)]
    theirs.append(Gauge("saved", "Saved.", ("tool", "kind"), registry=registry))
    ours = [Family("calls", "Calls.", ("tool", "kind")), Family("saved", "Saved.", ("tool", "kind"), kind="gauge")]
    for tool, kind, amount in added:
        for each in (*theirs, *ours):
            each.labels(tool, kind).inc(amount)
    expected = [line for line in lines(generate_latest(registry).decode()) if "_created" not in line]
    assert sorted(line for each in ours for line in parsed(each.lines())) == expected


@given(st.lists(st.tuples(names, st.floats(0, 1000)), max_size=20))
def test_a_histogram_is_written_as_by_the_client_library(observed):
    registry = CollectorRegistry()
    theirs = Histogram("took", "Time.", ("tool",), buckets=LIMITS, registry=registry)
    ours = HistogramFamily("took", "Time.", ("tool",), LIMITS)
    for tool, seconds in observed:
        for each in (theirs, ours):
            each.labels(tool).observe(seconds)
    expected = [line for line in lines(generate_latest(registry).decode()) if "_created" not in line]
    assert sorted(parsed(ours.lines())) == expected


def lines(text: str) -> list[str]:
    """Sorted, with numbers in one form, and labels in one order."""
    return sorted(parsed(text.split("\n")))


def parsed(text):
    for line in text:
        if not line or line.startswith("#"):
            if line:
                yield line
            continue
        name, _, value = line.rpartition(" ")
        labels = name.partition("{")[2].rstrip("}")
        yield f"{name.partition('{')[0]} {sorted(labels)} {float(value)}"


def test_a_scrape_while_series_are_added_has_the_older_ones():
    family = Family("calls", "Calls.", ("tool",))
    family.labels("first").inc()
    scrape = family.lines()
    assert next(scrape).startswith("# HELP")
    family.labels("second").inc()
    assert 'calls_total{tool="first"} 1.0' in list(scrape)


def test_the_wrong_number_of_labels_is_an_error():
    with pytest.raises(ValueError, match="zip"):
        Family("calls", "Calls.", ("tool", "kind")).labels("one")
