/* Draws the charts that templates/telemetry/_dashboard.html prepares, in the colours of the admin's theme. */
"use strict";
{
  const formats = {
    count: (value) => value.toLocaleString("en"),
    share: (value) => `${(100 * value).toFixed(1)}%`,
    ms: (value) => `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })} ms`,
  };
  const shortFormats = {
    count: (value) => value.toLocaleString("en", { notation: "compact" }),
    share: (value) => `${+(100 * value).toFixed(1)}%`,
    ms: formats.ms,
  };
  const stillness = window.matchMedia("(prefers-reduced-motion: reduce)");
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");
  let drawn = [];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function dataset(line, chart) {
    const own = colour(line.colour);
    const common = { label: line.label, data: line.values, backgroundColor: own, borderColor: own };
    if (chart.stacked) {
      return { ...common, categoryPercentage: 0.9, barPercentage: 1 };
    }
    const points = line.dashed && chart.unit === "share" ? 0 : 2;
    return { ...common, borderWidth: 2, borderDash: line.dashed ? [6, 4] : [], pointRadius: points, tension: 0 };
  }

  function options(chart) {
    const text = colour("--body-quiet-color");
    const grid = colour("--hairline-color");
    return {
      animation: stillness.matches ? false : { duration: 250 },
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: {
          stacked: chart.stacked,
          grid: { display: false },
          border: { color: grid },
          ticks: { color: text, maxRotation: 0, autoSkipPadding: 12 },
        },
        y: {
          stacked: chart.stacked,
          beginAtZero: true,
          grid: { color: grid },
          border: { display: false },
          ticks: { color: text, maxTicksLimit: 6, callback: shortFormats[chart.unit] },
        },
      },
      plugins: {
        legend: {
          position: "bottom",
          labels: { color: text, boxHeight: 8, boxWidth: chart.stacked ? 8 : 24, usePointStyle: !chart.stacked, pointStyle: "line" },
        },
        tooltip: {
          callbacks: {
            title: (items) => chart.times[items[0].dataIndex],
            label: (item) => `${item.dataset.label}: ${formats[chart.unit](item.raw)}`,
          },
        },
      },
    };
  }

  function draw(charts) {
    drawn.forEach((each) => each.destroy());
    drawn = charts.map((chart) => new Chart(document.querySelector(`canvas[data-chart="${chart.key}"]`), {
      type: chart.stacked ? "bar" : "line",
      data: { labels: chart.ticks, datasets: chart.lines.map((line) => dataset(line, chart)) },
      options: options(chart),
    }));
  }

  const source = document.getElementById("tm-data");
  if (source) {
    const charts = JSON.parse(source.textContent);
    draw(charts);
    new MutationObserver(() => draw(charts)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    darkness.addEventListener("change", () => draw(charts));
  }
}
