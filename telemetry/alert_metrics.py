"""The states of alerts for /metrics. Another process may evaluate the alerts, so each scrape reads the database."""

import logging
from collections import Counter
from collections.abc import Iterator

from django.db import DatabaseError
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from telemetry.alert_states import AlertState
from telemetry.models.alerts import Alert, AlertRule
from telemetry.storage import release_connection

logger = logging.getLogger(__name__)


class AlertCollector(Collector):
    """Counts alerts by rule and state. Each enabled rule has a series for "alerting", 0 if nothing fires. If the
    database is down, only these series are missing from /metrics."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("sluice_alerts", "Alerts by rule and state.", labels=("alert", "state"))
        try:
            for (rule, state), count in sorted(_counts().items()):
                family.add_metric([rule, state], count)
        except DatabaseError as error:
            logger.warning("alerts cannot be read for /metrics", extra={"error": type(error).__name__})
        finally:
            release_connection()
        yield family


def _counts() -> Counter[tuple[str, str]]:
    rules = AlertRule.objects.filter(is_enabled=True).values_list("name", flat=True)
    counts = Counter({(name, AlertState.ALERTING.value): 0 for name in rules})
    counts.update(Alert.objects.current().values_list("rule__name", "state"))
    return counts
