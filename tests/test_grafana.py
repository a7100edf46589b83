"""The Grafana dashboard and the alert rules ask for what /metrics has: every expression parses, and every metric and
label in it exists."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from gateway.upstreams import exchange_metrics
from telemetry import counters
from telemetry.metrics import metrics_text
from tests.telemetry.examples import a_call

pytestmark = pytest.mark.django_db  # also for `exposed`: a database is made only if a test has the mark

FOLDER = Path(settings.BASE_DIR) / "docs/grafana"
DASHBOARD = json.loads((FOLDER / "sluice-dashboard.json").read_text())
RULES = json.loads((FOLDER / "sluice-alerts.json").read_text())["groups"][0]["rules"]
GRAFANAS = {"$__rate_interval": "5m", "$instance": ".*"}  # what Grafana puts into an expression
SCRAPED = {"instance", "job"}  # labels that Prometheus adds
# Gauges that have no series until there is a value.
LATER = {
    "sluice_upstream_rate_left": {"upstream"},
    "sluice_upstream_last_success_timestamp_seconds": {"upstream"},
    "sluice_upstream_last_failure_timestamp_seconds": {"upstream"},
}


def expressions() -> Iterator[tuple[str, str]]:
    """Where each one stands, and the expression as Prometheus gets it."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            text = target["expr"]
            for name, value in GRAFANAS.items():
                text = text.replace(name, value)
            yield panel["title"], text
    for rule in RULES:
        yield rule["alert"], rule["expr"]


ALL = list(expressions())


def selectors(expression: str) -> list[Any]:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


@pytest.fixture(scope="module")
def exposed(django_db_setup: None, django_db_blocker: Any) -> dict[str, set[str]]:
    """The series that /metrics has, and their labels."""
    counters.count(a_call(outcome="error", error_reason="not_found", origin="caller"))
    counters.count_audit(claude_is_close=True, estimate_is_close=False)
    counters.REJECTED_KEYS.labels("rest").inc()
    exchange_metrics.count("nsip", "answered", 200, 0.1)
    found: dict[str, set[str]] = {}
    with django_db_blocker.unblock():
        body, _ = metrics_text()
    for family in text_string_to_metric_families(body.decode()):
        found.setdefault(family.name, set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_there_are_expressions_to_check():
    assert len(ALL) > 40
    assert all(selectors(expression) for _, expression in ALL)


@pytest.mark.parametrize(("place", "expression"), ALL, ids=[f"{place}-{n}" for n, (place, _) in enumerate(ALL)])
def test_every_metric_and_label_is_in_metrics(exposed: dict[str, set[str]], place: str, expression: str):
    for selector in selectors(expression):
        assert selector.name in exposed, f"{place}: {selector.name}"
        labels = {each.name for each in selector.matchers.matchers} - SCRAPED
        assert labels <= exposed[selector.name] | LATER.get(selector.name, set()), f"{place}: {selector.name}"


def test_a_legend_names_only_labels_of_its_expression():
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            named = set(re.findall(r"{{(\w+)}}", target["legendFormat"])) - SCRAPED
            assert all(name in target["expr"] for name in named), panel["title"]


def test_no_two_panels_lie_on_each_other():
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert all(0 <= x < 24 for x, _ in cells)


def test_every_rule_says_what_happened_and_what_to_do():
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
