/* Draws the charts of templates/telemetry/_chart.html with Chart.js, in the colours of the theme. The time axis is a
   linear scale of ms since 1970. All charts of a page share one cursor. */
"use strict";
{
  const MARK = 14; // px: the box of a mark's letter
  const DRAG = 8; // px that make a drag of a click
  const dashes = { dashed: [6, 4], dotted: [2, 3] };
  const darkness = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map(); // key → Drawn
  let cursor = null; // ms, where the shared cursor stands

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const three = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : String(+value.toPrecision(3)));
  const minus = (text) => text.replace("-", "−");

  function short(value) {
    for (const [unit, factor] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= (unit === "k" ? 10 * factor : factor)) return minus(three(value / factor).replace(/\.0$/, "")) + unit;
    }
    return minus(value.toLocaleString("en", { maximumFractionDigits: 1 }));
  }

  function milliseconds(value) {
    if (value < 9.95) return `${+value.toFixed(1)} ms`;
    if (value < 999.5) return `${value.toFixed(0)} ms`;
    return value < 60000 ? `${three(value / 1000)} s` : `${Math.floor(value / 60000)} min ${Math.round((value % 60000) / 1000)} s`;
  }

  const exact = { count: (value) => minus(value.toLocaleString("en", { maximumFractionDigits: 0 })), share: (value) => `${(100 * value).toFixed(1)}%`, ms: milliseconds };
  const axis = { count: short, share: (value) => `${+(100 * value).toFixed(1)}%`, ms: milliseconds };

  // -- Our plugins ------------------------------------------------------------------------------------------

  function vertical(chart, x, dash, stroke) {
    const { ctx, chartArea: area } = chart;
    ctx.save();
    ctx.strokeStyle = stroke;
    ctx.lineWidth = 1;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(Math.round(x) + 0.5, area.top);
    ctx.lineTo(Math.round(x) + 0.5, area.bottom);
    ctx.stroke();
    ctx.restore();
  }

  function letters(chart, x, kinds) {
    const { ctx, chartArea: area } = chart;
    const width = MARK + 7 * (kinds.length - 1);
    const left = Math.min(Math.round(x - MARK / 2), Math.round(area.right + MARK / 2 - width));
    ctx.save();
    ctx.fillStyle = colour("--sl-page");
    ctx.strokeStyle = colour("--sl-ink");
    ctx.fillRect(left, 0, width, MARK);
    ctx.strokeRect(left + 0.5, 0.5, width - 1, MARK - 1);
    ctx.fillStyle = colour("--sl-ink");
    ctx.font = "600 10px ui-monospace, monospace";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(kinds, left + width / 2, MARK / 2 + 0.5);
    ctx.restore();
  }

  const marks = {
    id: "marks",
    afterDatasetsDraw(chart) {
      const { chartArea: area } = chart;
      const ends = chart.source.marks.map((mark) => [mark, chart.scales.x.getPixelForValue(mark.at)]);
      const boxes = []; // marks that stand close together share a box: CBA
      for (const [mark, x] of ends.filter(([, at]) => at >= area.left && at <= area.right)) {
        vertical(chart, x, [2, 3], colour("--sl-ink"));
        const last = boxes.at(-1);
        if (!last || x - last.x > MARK * last.kinds.length + 2) boxes.push({ x, kinds: mark.kind });
        else if (!last.kinds.includes(mark.kind)) last.kinds += mark.kind;
      }
      for (const { x, kinds } of boxes) letters(chart, x, kinds);
    },
  };

  const limit = {
    id: "limit",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area, source } = chart;
      if (source.limit === null) return;
      const y = chart.scales.y.getPixelForValue(source.limit);
      ctx.save();
      ctx.strokeStyle = colour("--sl-quiet");
      ctx.lineWidth = 1.5;
      ctx.setLineDash(dashes.dashed);
      ctx.beginPath();
      ctx.moveTo(area.left, y);
      ctx.lineTo(area.right, y);
      ctx.stroke();
      ctx.restore();
    },
  };

  const pointer = {
    id: "pointer",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea: area, source } = chart;
      if (cursor !== null && cursor >= source.span[0] && cursor <= source.span[1]) vertical(chart, chart.scales.x.getPixelForValue(cursor), [], colour("--sl-quiet"));
      if (!chart.selection) return;
      const [from, to] = chart.selection.map((at) => chart.scales.x.getPixelForValue(at));
      ctx.save();
      ctx.globalAlpha = 0.2;
      ctx.fillStyle = colour("--sl-accent");
      ctx.fillRect(from, area.top, to - from, area.bottom - area.top);
      ctx.restore();
    },
  };

  const names = {
    id: "names",
    afterDatasetsDraw(chart) {
      if (chart.source.kind === "bars" || chart.source.lines.length < 2) return;
      const { ctx, chartArea: area } = chart;
      const ends = chart.data.datasets.map((set, n) => [set, chart.getDatasetMeta(n).data.filter((_, at) => set.data[at].y !== null).at(-1)]);
      let last = Infinity;
      ctx.save();
      ctx.font = "12px system-ui, sans-serif";
      ctx.textBaseline = "middle";
      for (const [set, end] of ends.filter(([, each]) => each).sort((a, b) => b[1].y - a[1].y)) {
        const y = Math.min(Math.max(end.y, area.top + 6), last - 13);
        last = y;
        ctx.fillStyle = set.borderColor;
        ctx.fillText(set.label, area.right + 6, y);
      }
      ctx.restore();
    },
  };

  // -- One chart --------------------------------------------------------------------------------------------

  function dataset(line, source) {
    const own = colour(line.colour);
    const points = line.values.map((value, n) => ({ x: source.starts[n] + source.step / 2, y: source.log && !value ? null : value }));
    const common = { label: line.label, data: points, backgroundColor: own, borderColor: own };
    if (source.kind === "bars") {
      return { ...common, borderColor: colour("--sl-page"), borderWidth: { top: 1 }, borderSkipped: false, barPercentage: 1, categoryPercentage: 0.9 };
    }
    // A point without neighbours has no line to be seen by.
    const isAlone = points.map((each, n) => each.y !== null && [points[n - 1], points[n + 1]].every((beside) => !beside || beside.y === null));
    const radius = points.length > 100 ? 0 : 1.5;
    return { ...common, borderWidth: 2, borderDash: dashes[line.dash] || [], pointRadius: isAlone.map((alone) => (alone ? 4 : radius)), pointHoverRadius: 4, clip: 8, tension: 0 };
  }

  function options(source) {
    const [quiet, line] = [colour("--sl-quiet"), colour("--sl-line")];
    const isBars = source.kind === "bars";
    const longest = Math.max(...source.lines.map((each) => each.label.length));
    return {
      animation: false,
      maintainAspectRatio: false,
      layout: { padding: { top: MARK + 2, right: isBars || source.lines.length < 2 ? 8 : 12 + 7 * longest } },
      interaction: { mode: "index", intersect: false },
      events: ["mousemove", "mouseout"],
      onHover: (event, active) => point(active.length ? source.starts[active[0].index] + source.step / 2 : null),
      scales: {
        x: {
          type: "linear", min: source.span[0], max: source.span[1], stacked: isBars, offset: false,
          grid: { display: false }, border: { color: line },
          afterBuildTicks: (scale) => { scale.ticks = source.ticks.map(([value]) => ({ value })); },
          ticks: { color: quiet, maxRotation: 0, autoSkipPadding: 12, font: { size: 12 }, callback: (value) => source.ticks.find(([at]) => at === value)?.[1] },
        },
        y: {
          type: source.log ? "logarithmic" : "linear", stacked: isBars, beginAtZero: true,
          suggestedMax: source.limit === null ? undefined : source.limit * 1.2,
          grid: { color: line }, border: { display: false },
          ticks: { color: quiet, maxTicksLimit: 5, font: { size: 12 }, precision: source.unit === "count" ? 0 : undefined, callback: axis[source.unit] },
        },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          animation: false, displayColors: true, usePointStyle: false,
          filter: (item) => item.raw.y,
          callbacks: {
            title: (items) => (items.length ? source.times[items[0].dataIndex] : ""),
            label: (item) => ` ${item.dataset.label}: ${exact[source.unit](item.raw.y)}`,
          },
        },
      },
    };
  }

  function point(at) {
    if (at === cursor) return;
    cursor = at;
    for (const chart of drawn.values()) chart.draw();
  }

  /** The intervals from one number to another, as the times in an address. */
  function times(source, first, last) {
    const [from, to] = [Math.min(first, last), Math.max(first, last)];
    return { from: source.starts[from], to: source.starts[to] + source.step };
  }

  /** The part of these times that is in the range of the page, and so in the figures. */
  function within({ within: [since, until] }, { from, to }) {
    return { from: Math.max(from, since), to: Math.min(to, until) };
  }

  function go(address, { from, to }) {
    if (!address) return;
    const url = new URL(address, location.href);
    url.searchParams.set("from", new Date(from).toISOString());
    url.searchParams.set("to", new Date(to).toISOString());
    location.assign(url);
  }

  function interval(chart, x) {
    const { source } = chart;
    const at = chart.scales.x.getValueForPixel(x);
    return Math.min(source.starts.length - 1, Math.max(0, Math.floor((at - source.starts[0]) / source.step)));
  }

  function drags(plot) {
    let start = null;
    const canvas = plot.querySelector("canvas");
    const place = (event) => event.clientX - canvas.getBoundingClientRect().left;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch") return;
      start = place(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (start === null || Math.abs(place(event) - start) < DRAG) return;
      const chart = drawn.get(plot.id);
      const { from, to } = times(chart.source, interval(chart, start), interval(chart, place(event)));
      chart.selection = [from, to];
      chart.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const chart = drawn.get(plot.id);
      const end = place(event);
      const span = times(chart.source, interval(chart, start), interval(chart, end));
      const isDrag = Math.abs(end - start) >= DRAG;
      start = null;
      chart.selection = null;
      plot.focus({ preventScroll: true });
      if (isDrag) go(chart.source.zoom, span);
      else go(chart.source.calls, within(chart.source, span));
    });
  }

  function readOut(chart, plot) {
    const { source } = chart;
    const figures = source.lines.map((line) => [line.label, line.values[plot.at]]).filter(([, value]) => value !== null);
    plot.parentElement.querySelector("[data-readout]").textContent =
      `${source.times[plot.at]}: ${figures.map(([label, value]) => `${label} ${exact[source.unit](value)}`).join(", ") || "no data"}`;
  }

  function keys(plot) {
    plot.addEventListener("keydown", (event) => {
      const chart = drawn.get(plot.id);
      const last = chart.source.starts.length - 1;
      const moves = { ArrowLeft: -1, ArrowRight: 1 };
      const first = plot.anchor ?? plot.at;
      if (event.key in moves) {
        event.preventDefault();
        if (event.shiftKey) plot.anchor ??= plot.at ?? last;
        else plot.anchor = null;
        plot.at = Math.min(last, Math.max(0, (plot.at ?? last + 1) + moves[event.key]));
        chart.selection = plot.anchor == null ? null : Object.values(times(chart.source, plot.anchor, plot.at));
        chart.tooltip.setActiveElements(chart.data.datasets.map((_, n) => ({ datasetIndex: n, index: plot.at })), { x: 0, y: 0 });
        point(chart.source.starts[plot.at] + chart.source.step / 2);
        chart.update("none");
        readOut(chart, plot);
      } else if (plot.at !== undefined && event.key === "Enter") {
        go(chart.source.calls, within(chart.source, times(chart.source, first, plot.at)));
      } else if (plot.at !== undefined && event.key.toLowerCase() === "z" && !event.ctrlKey && !event.metaKey) {
        go(chart.source.zoom, times(chart.source, first, plot.at));
      }
    });
    plot.addEventListener("blur", () => point(null));
  }

  // -- All of them ------------------------------------------------------------------------------------------

  function draw() {
    for (const chart of drawn.values()) chart.destroy();
    drawn.clear();
    document.querySelectorAll(".plot[data-chart]").forEach((plot) => {
      const source = JSON.parse(document.getElementById(plot.dataset.chart).textContent);
      const canvas = plot.querySelector("canvas");
      canvas.hidden = false;
      plot.classList.add("is-drawn");
      // Chart.js draws while it is made, and our plugins then need the source.
      const chart = new Chart(canvas, {
        type: source.kind === "bars" ? "bar" : "line",
        data: { datasets: source.lines.map((line) => dataset(line, source)) },
        options: options(source),
        plugins: [{ id: "source", beforeInit: (made) => { made.source = source; } }, limit, marks, pointer, names],
      });
      drawn.set(plot.id, chart);
      if (plot.isWired) return;
      plot.isWired = true;
      drags(plot);
      keys(plot);
    });
  }

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  draw();
  document.addEventListener("sluice:swapped", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  darkness.addEventListener("change", draw);
}
