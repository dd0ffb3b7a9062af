// Bars: policies against the optimum, sharing patterns. Colours come from the style sheet, labels from the report.
"use strict";
const homenodeColour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const homenodeFont = () => getComputedStyle(document.body).fontFamily;

// A dashed line at the optimum, with its name and value above the bars.
const homenodeOptimumLine = {
  id: "homenodeOptimumLine",
  afterDatasetsDraw(chart, _args, options) {
    if (!options.optimum) return;
    const [value, name, label] = options.optimum;
    const { ctx, chartArea: area } = chart;
    const x = chart.scales.x.getPixelForValue(value);
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = homenodeColour("ink");
    ctx.lineWidth = 1.5;
    ctx.setLineDash([5, 4]);
    ctx.beginPath();
    ctx.moveTo(x, area.top - 4);
    ctx.lineTo(x, area.bottom);
    ctx.stroke();
    ctx.font = "12px " + homenodeFont();
    const text = name + " " + label, room = chart.width - ctx.measureText(text).width;
    ctx.fillText(text, Math.max(0, Math.min(x - 1, room)), area.top - 9);
    ctx.restore();
  },
};

// Totals at the end of the bars, where they fit.
const homenodeTotals = {
  id: "homenodeTotals",
  afterDatasetsDraw(chart, _args, options) {
    const { ctx, scales } = chart;
    ctx.save();
    ctx.font = "12px " + homenodeFont();
    ctx.fillStyle = homenodeColour("muted");
    ctx.textBaseline = "middle";
    options.ends.forEach(([value, label], i) => ctx.fillText(label, scales.x.getPixelForValue(value) + 6, scales.y.getPixelForValue(i)));
    ctx.restore();
  },
};

function homenodeAxis(title, max) {
  const text = { color: homenodeColour("muted"), font: { size: 12 } };
  return {
    stacked: true,
    beginAtZero: true,
    max,
    title: { display: true, text: title, ...text },
    ticks: { ...text, maxTicksLimit: 7, includeBounds: false },
    grid: { color: homenodeColour("grid"), drawTicks: false },
    border: { display: false },
  };
}

function homenodeNames(labels, stacked) {
  const narrow = window.innerWidth < 640;
  const cut = (s) => (s.length > (narrow ? 14 : 26) ? s.slice(0, narrow ? 13 : 25) + "…" : s);
  return {
    stacked,
    ticks: { color: homenodeColour("ink"), font: { size: 13 }, callback: (_v, i) => cut(labels[i]) },
    grid: { display: false },
    border: { display: false },
  };
}

function homenodeLegend() {
  return { position: "bottom", align: "start", labels: { color: homenodeColour("muted"), boxWidth: 12, boxHeight: 12, padding: 14, font: { size: 12.5 } } };
}

function homenodeBars(canvas, labels, datasets, options) {
  canvas.parentElement.style.height = options.height + "px";
  Chart.defaults.font.family = homenodeFont();
  return new Chart(canvas, {
    type: "bar",
    data: { labels, datasets },
    plugins: options.extra,
    options: {
      indexAxis: "y",
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      layout: { padding: options.padding },
      scales: options.scales,
      plugins: { legend: homenodeLegend(), tooltip: { callbacks: { label: options.tooltip } }, ...options.plugins },
    },
  });
}

function homenodePolicies(canvas, view) {
  const p = view.policies;
  const labels = p.rows.map((r) => r.name);
  const datasets = p.parts.map(([key, label], i) => ({
    label,
    data: p.rows.map((r) => r.values[i]),
    backgroundColor: homenodeColour("part-" + key),
    borderColor: homenodeColour("page"),
    borderWidth: { right: 1 },
    maxBarThickness: 24,
  }));
  const ends = p.rows.map((r) => [r.values.reduce((a, b) => a + b, 0), r.total]);
  const longest = Math.max(...ends.map((e) => e[0]), p.optimum ? p.optimum[0] : 0);
  return homenodeBars(canvas, labels, datasets, {
    height: p.rows.length * 38 + 120,
    padding: { top: 26, right: 12 },
    extra: [homenodeOptimumLine, homenodeTotals],
    plugins: { homenodeOptimumLine: { optimum: p.optimum }, homenodeTotals: { ends } },
    scales: { x: homenodeAxis("memory cost, " + p.axis, longest * (window.innerWidth < 640 ? 1.7 : window.innerWidth < 1000 ? 1.32 : 1.16)), y: homenodeNames(labels, true) },
    tooltip: (item) => item.dataset.label + ": " + p.rows[item.dataIndex].labels[item.datasetIndex],
  });
}

function homenodePatterns(canvas, view) {
  const rows = view.patterns;
  const labels = rows.map((r) => r.name);
  const series = [["bytes", "Share of bytes"], ["cost", "Share of cost"]];
  const datasets = series.map(([key, label]) => ({
    label,
    data: rows.map((r) => r[key + "_percent"]),
    backgroundColor: homenodeColour(key),
    maxBarThickness: 13,
    categoryPercentage: 0.7,
    barPercentage: 0.95,
  }));
  const x = homenodeAxis("per cent", 100);
  return homenodeBars(canvas, labels, datasets, {
    height: rows.length * 40 + 90,
    padding: { right: 12 },
    extra: [],
    plugins: {},
    scales: { x: { ...x, stacked: false, ticks: { ...x.ticks, includeBounds: true } }, y: homenodeNames(labels, false) },
    tooltip: (item) => item.dataset.label + ": " + rows[item.dataIndex][series[item.datasetIndex][0]],
  });
}
