"""The page of one upstream: its state, its answers, and the tools on it."""

from collections.abc import Callable, Sequence
from functools import partial

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from telemetry import facts, lights, processes, queries, wording
from telemetry.call_figures import CallFigures, Series
from telemetry.lights.light import Light
from telemetry.lights.since import since
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.breaker_strips import breaker_strip
from telemetry.pages.call_charts import call_charts
from telemetry.pages.charts import Chart, Line, chart
from telemetry.pages.conditions import SubjectHealth, condition, counted
from telemetry.pages.group_table import group_table
from telemetry.pages.marks import marks
from telemetry.pages.panels import UNREADABLE, guarded, is_missing
from telemetry.pages.reason_table import reason_table
from telemetry.pages.shell import page, show
from telemetry.pages.tables import Table
from telemetry.pages.tiles import Better, Fact, Tile, changed, changed_share
from telemetry.pages.upstreams import breaker
from telemetry.queries import Selection, Span
from telemetry.states import State
from telemetry.upstream_reports import ProbeReport, UpstreamReport, probe_of, upstream_reports

BY = ("tool",)
# The classes of an upstream's answers, in the order of the stack.
STATUSES: tuple[tuple[str, str, Callable[[int], bool]], ...] = (
    ("2xx", "s6", lambda status: 200 <= status < 300),
    ("3xx", "s4", lambda status: 300 <= status < 400),
    ("4xx", "s1", lambda status: 400 <= status < 500 and status != 429),
    ("429", "s3", lambda status: status == 429),
    ("5xx", "s2", lambda status: status >= 500),
    ("no answer, or no request", "s5", lambda status: status < 200),
)


@require_safe
@page(default_range="1h", subject="upstream")
def upstream(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    known = facts.upstreams.get(name)
    report = upstream_reports().get(name)
    if known is None and report is None and is_missing(lambda: name in queries.names("upstream")):
        raise Http404
    selection = address.selection.and_also(upstream=name)
    if form := export.wanted(request):
        return export.exported(_tools(address, selection, name), form, f"upstream-{name}")
    charts = guarded("Charts", lambda: _charts(address, selection, name))
    tools = guarded("Tools on it", lambda: _tools(address, selection, name))
    seen = guarded("Lights", lights.lights_now)
    light = seen.content.of_upstream(name) if seen.content and address.range else None
    state = guarded("State", lambda: _condition(address, selection, light, report))
    return show(
        request,
        address,
        "telemetry/upstream.html",
        title=name,
        state=state.content.state if state.content else State.ERROR,
        sentence=state.content.sentence if state.content else UNREADABLE,
        lights=seen,
        exports=export.FORMS,
        facts=_facts(known, report),
        strip=guarded("Breaker", lambda: breaker_strip(name, report, *address.span)),
        check=reverse("telemetry:check-upstream", args=(name,)) if report else "",
        tiles=guarded("Figures", lambda: _tiles(address, selection, report)),
        charts=charts,
        reasons=guarded("Errors by reason", lambda: reason_table(address, selection)),
        tools=tools,
        marks=guarded("Changes", lambda: marks(*address.span, (name,))),
        calls_link=address.to("calls"),
    )


@require_POST
@page(subject="upstream")
def check(request: HttpRequest, address: Address, name: str) -> HttpResponseBase:
    """Probes the upstream once, with a cheap read, and shows its answer."""
    answer = processes.probe_now(name)
    if answer is None:
        raise Http404
    probe = probe_of(answer)
    say = messages.success if probe.is_ok else messages.error
    say(request, f"Checked {name}: {probe_words(probe)}")
    return HttpResponseRedirect(address.with_chosen_range.to("upstream", name))


def probe_words(probe: ProbeReport) -> str:
    """2026-11-22 14:02:37, status 200 in 41 ms"""
    status = f"status {probe.status}" if probe.status else "no answer"
    said = f": {probe.message}" if probe.message else ""
    return f"{wording.moment(probe.at)}, {status} in {wording.milliseconds(probe.ms)}{said}"


def _condition(
    address: Address, selection: Selection, light: Light | None, report: UpstreamReport | None
) -> SubjectHealth:
    """The state of its light, as on Now. Without a light (for a past range, or a removed upstream), the state comes
    from the calls."""
    if light is None:
        return condition(address, selection)
    counts = counted(address, selection)
    if not light.is_bad:
        return SubjectHealth(light.state, counts)
    began = since(light, address.now)
    said = f"{light.said}{f' {began.words(address.now)}' if began else ''}."
    return SubjectHealth(light.state, f"{said} {_breaker(report)}{counts}")


def _breaker(report: UpstreamReport | None) -> str:
    if report is None or report.breaker == "closed":
        return ""
    failed = f": {report.last_failure}" if report.last_failure else ""
    again = f" Next try in {report.next_try_in:.0f} s." if report.next_try_in else ""
    return f"{breaker(report)[1].capitalize()}{failed}.{again} "


def _facts(known: facts.UpstreamFacts | None, report: UpstreamReport | None) -> Sequence[Fact]:
    found = [Fact("Reported", breaker(report)[1])]
    if report and report.last_success_at:
        found.append(Fact("Last success", wording.moment(report.last_success_at)))
    if report and report.last_failure_at:
        found.append(Fact("Last failure", wording.moment(report.last_failure_at)))
    if report and report.probe:
        found.append(Fact("Last checked", probe_words(report.probe)))
    if known is None:
        return [Fact("Connection", "none now: removed or renamed"), *found]
    return [*([Fact("Connection", "settings", known.edit)] if known.edit else []), *found]


def _tiles(address: Address, selection: Selection, report: UpstreamReport | None) -> Sequence[Tile]:
    now = queries.totals(Span.of(*address.span), selection, wanted=queries.SUMS_AND_UPSTREAM_TIMES)
    before = (
        queries.totals(Span.of(*address.before), selection, wanted=queries.SUMS_AND_UPSTREAM_TIMES)
        if address.before
        else None
    )
    old, against = before or now, address.before_in_words if before else ""
    requests, requests_before = now.total("attempts"), old.total("attempts")
    tried = now.calls - now.cached_calls
    return [
        Tile(
            "Requests",
            wording.short(requests),
            wording.whole(requests),
            (f"for {wording.plural(now.calls, 'call')}",),
            changed(requests, requests_before, against, Better.UNKNOWN),
            address.to("calls"),
        ),
        Tile(
            "Failed",
            wording.share(now.error_share),
            notes=(f"{wording.whole(now.origins.get('upstream', 0))} because of it",),
            change=changed_share(now.error_share, old.error_share, against, Better.LESS),
            link=address.to("calls", outcome="error"),
        ),
        Tile(
            "Its time, p95",
            wording.milliseconds(now.upstream_latency.p95),
            notes=(f"p50 {wording.milliseconds(now.upstream_latency.p50)}",),
            change=changed(now.upstream_latency.p95, old.upstream_latency.p95, against, Better.LESS),
        ),
        Tile("Requests a call", f"{requests / tried:.1f}" if tried else wording.NOTHING, notes=("without the cache",)),
        Tile("Rate left", *_rate(report)),
        Tile("From cache", wording.share(now.cached_calls / now.calls if now.calls else None)),
    ]


def _rate(report: UpstreamReport | None) -> tuple[str, str, tuple[str, ...]]:
    if report is None or report.rate_limit is None:
        return wording.NOTHING, "", ("no limit is known",)
    left = wording.whole(report.rate_left)
    return left, left, (f"of {wording.whole(report.rate_limit)}",)


def _charts(address: Address, selection: Selection, name: str) -> Sequence[Chart]:
    span = Span.of(*address.span)
    series = queries.series(span, selection, split="status", wanted=queries.SUMS_AND_UPSTREAM_TIMES)
    seen = queries.totals(span, selection, wanted=queries.SUMS)
    marked = marks(*address.span, (name,))
    usual = call_charts(address, seen, series, marked)
    draw = partial(
        chart,
        address,
        starts=[bucket.start for bucket in series.buckets],
        step=series.step,
        marks=marked,
    )
    statuses = draw(
        key="statuses",
        title="Answers by status",
        unit="count",
        kind="bars",
        caption="By the last request of each call. While the breaker is open, no request is sent.",
        calls=address.timeless.to("calls"),
        lines=_status_lines(address, series, name),
        empty="" if seen.calls else f"No call needed {name} {address.during}.",
    )
    latency = draw(
        key="upstream-time",
        title="Its time",
        unit="ms",
        kind="lines",
        is_log=True,
        calls=address.timeless.to("calls"),
        lines=[
            Line("p50", "s1", tuple(each.figures.upstream_latency.p50 for each in series.buckets)),
            Line("p95", "s2", tuple(each.figures.upstream_latency.p95 for each in series.buckets), "dashed"),
            Line("p99", "s5", tuple(each.figures.upstream_latency.p99 for each in series.buckets), "dotted"),
        ],
    )
    return statuses, latency, usual["origins"], usual["means"]


def _status_lines(address: Address, series: Series, name: str) -> Sequence[Line]:
    lines = []
    for label, colour, is_one in STATUSES:
        values = tuple(
            sum(_requested(figures) for status, figures in bucket.parts.items() if is_one(int(status)))
            for bucket in series.buckets
        )
        lines.append(Line(label, colour, values, total=wording.short(sum(values))))
    return lines


def _requested(figures: CallFigures) -> int:
    """Calls that were not answered from the cache."""
    return figures.calls - figures.cached_calls


def _tools(address: Address, selection: Selection, name: str) -> Table:
    return group_table(
        address,
        selection,
        BY,
        title="Tools on it",
        empty=f"No call needed {name} {address.during}.",
    )
