"""The tables of telemetry."""

from telemetry.models.alerts import Alert, AlertRule, AlertTransition, Channel, Notification
from telemetry.models.arguments import CallArguments, KeptTool
from telemetry.models.audits import TokenAudit
from telemetry.models.calls import TelemetryRecord
from telemetry.models.events import Event
from telemetry.models.processes import ProcessReport
from telemetry.models.rejected_keys import RejectedKey
from telemetry.models.rollups import Rollup, StaleBucket
from telemetry.models.saved_views import SavedView
from telemetry.models.withheld_fields import WithheldField

__all__ = [
    "Alert",
    "AlertRule",
    "AlertTransition",
    "CallArguments",
    "Channel",
    "Event",
    "KeptTool",
    "Notification",
    "ProcessReport",
    "RejectedKey",
    "Rollup",
    "SavedView",
    "StaleBucket",
    "TelemetryRecord",
    "TokenAudit",
    "WithheldField",
]
