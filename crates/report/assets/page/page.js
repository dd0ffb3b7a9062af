// Draws the charts, switches theme and evaluation, and can check itself (for tests/browser).
"use strict";
(() => {
  const json = (id) => JSON.parse(document.getElementById(id).textContent);
  const report = json("homenode-report"), views = json("homenode-views");
  const root = document.documentElement, dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();
  let chosen = null;

  const draw = {
    policies: (canvas, i) => homenodePolicies(canvas, views[i]),
    patterns: (canvas, i) => homenodePatterns(canvas, views[i]),
    heat: (canvas, i) => homenodeHeat(canvas, report.evaluations[i].heat, views[i].nodes),
  };

  function drawVisible() {
    for (const section of document.querySelectorAll(".evaluation:not([hidden])")) {
      for (const canvas of section.querySelectorAll("canvas[data-chart]")) {
        const old = drawn.get(canvas);
        if (old) old.destroy();
        drawn.set(canvas, draw[canvas.dataset.chart](canvas, Number(section.dataset.index)));
      }
    }
  }

  function applyTheme() {
    const theme = chosen || (dark.matches ? "dark" : "light");
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    button.hidden = false;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to the " + button.textContent.toLowerCase() + " theme");
    drawVisible();
  }

  function show(index) {
    for (const section of document.querySelectorAll(".evaluation")) section.hidden = Number(section.dataset.index) !== index;
    for (const button of document.querySelectorAll(".switch button")) button.setAttribute("aria-pressed", String(Number(button.dataset.show) === index));
    drawVisible();
  }

  document.getElementById("theme").addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    applyTheme();
  });
  dark.addEventListener("change", applyTheme);
  for (const button of document.querySelectorAll(".switch button")) button.addEventListener("click", () => show(Number(button.dataset.show)));
  for (const canvas of document.querySelectorAll("canvas.heat")) {
    const i = Number(canvas.closest(".evaluation").dataset.index), readout = document.getElementById(canvas.id + "-readout");
    canvas.addEventListener("mousemove", (event) => homenodeHeatReadout(canvas, readout, report.evaluations[i].heat, event));
  }
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) drawVisible();
    width = window.innerWidth;
  });

  function colours(canvas) {
    if (!canvas.width || !canvas.height) return 0;
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const ctx = copy.getContext("2d", { willReadFrequently: true });
    ctx.drawImage(canvas, 0, 0);
    return new Set(new Uint32Array(ctx.getImageData(0, 0, copy.width, copy.height).data.buffer)).size;
  }

  // Every chart of every evaluation, drawn and looked at: how many colours and marks it has.
  window.__homenodeSelfCheck = () => {
    const before = views.findIndex((_, i) => !document.getElementById("evaluation-" + i).hidden), charts = [];
    views.forEach((_, i) => {
      show(i);
      for (const canvas of document.querySelectorAll("#evaluation-" + i + " canvas[data-chart]")) {
        const chart = drawn.get(canvas);
        const marks = chart ? chart.data.datasets.reduce((n, _d, d) => n + chart.getDatasetMeta(d).data.filter((bar) => Math.abs(bar.width) > 0.5).length, 0) : null;
        charts.push({ id: canvas.id, kind: canvas.dataset.chart, colours: colours(canvas), marks });
      }
      for (const svg of document.querySelectorAll("#evaluation-" + i + " svg.line")) {
        charts.push({ id: "line", kind: "line", colours: null, marks: svg.querySelectorAll("rect.word").length });
      }
    });
    if (before >= 0) show(before);
    return { theme: root.dataset.theme, background: getComputedStyle(document.body).backgroundColor, evaluations: views.length, overflow: root.scrollWidth - root.clientWidth, charts };
  };
  applyTheme();
})();
