"""The pages at /telemetry/."""

from django.urls import path

from telemetry.pages import (
    accuracy,
    alert_history,
    alert_list,
    alert_page,
    alert_rules,
    call,
    call_replay,
    caller,
    callers,
    calls,
    overview,
    runbooks,
    saved_views,
    search,
    tool,
    tools,
    upstream,
    upstreams,
)

app_name = "telemetry"
urlpatterns = [
    path("overview/", overview.overview, name="overview"),
    path("tools/", tools.tools, name="tools"),
    path("tools/<path:name>/", tool.tool, name="tool"),
    path("callers/", callers.callers, name="callers"),
    path("callers/<path:name>/", caller.caller, name="caller"),
    path("upstreams/", upstreams.upstreams, name="upstreams"),
    path("upstreams/<path:name>/", upstream.upstream, name="upstream"),
    path("alerts/", alert_list.alert_list, name="alerts"),
    path("alerts/history.csv", alert_history.history, name="alert-history"),
    path("alerts/runbooks/", runbooks.runbooks, name="runbooks"),
    path("alerts/rules/", alert_rules.rule_list, name="alert-rules"),
    path("alerts/rules/new/", alert_rules.new_rule, name="new-alert-rule"),
    path("alerts/rules/<int:number>/", alert_rules.edit_rule, name="alert-rule"),
    path("alerts/rules/<int:number>/switch/", alert_rules.switch_rule, name="switch-alert-rule"),
    path("alerts/rules/<int:number>/delete/", alert_rules.delete_rule, name="delete-alert-rule"),
    path("alerts/<int:number>/", alert_page.alert_page, name="alert"),
    path("alerts/<int:number>/acknowledge/", alert_page.acknowledge, name="alert-acknowledge"),
    path("alerts/<int:number>/silence/", alert_page.silence, name="alert-silence"),
    path("calls/", calls.calls, name="calls"),
    path("calls/<str:request_id>/", call.call, name="call"),
    path("calls/<str:request_id>/replay/", call_replay.replay, name="replay"),
    path("accuracy/", accuracy.token_accuracy, name="accuracy"),
    path("search/", search.search, name="search"),
    path("views/", saved_views.save, name="save-view"),
    path("views/<int:number>/delete/", saved_views.delete, name="delete-view"),
]
