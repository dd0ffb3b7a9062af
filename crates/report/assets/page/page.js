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
        if (old && old.destroy) old.destroy();
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

  function pixels(canvas, area) {
    const copy = Object.assign(document.createElement("canvas"), { width: area.width, height: area.height });
    const ctx = copy.getContext("2d", { willReadFrequently: true });
    ctx.drawImage(canvas, -area.x, -area.y);
    return new Uint32Array(ctx.getImageData(0, 0, area.width, area.height).data.buffer);
  }

  // Bars that have a length, or pixels of the heat map that are not its ground; and how many colours there are.
  function inspect(canvas) {
    const kind = canvas.dataset.chart, chart = drawn.get(canvas);
    if (!canvas.width || !canvas.height || !chart) return { id: canvas.id, kind, colours: 0, marks: 0 };
    const whole = { x: 0, y: 0, width: canvas.width, height: canvas.height };
    const colours = new Set(pixels(canvas, whole)).size;
    if (kind === "heat") {
      const [red, green, blue] = homenodeRgb(homenodeColour("sunken")), ground = 0xff000000 + (blue << 16) + (green << 8) + red;
      return { id: canvas.id, kind, colours, marks: pixels(canvas, chart).filter((p) => p !== ground).length };
    }
    const bars = chart.data.datasets.flatMap((_, d) => chart.getDatasetMeta(d).data);
    return { id: canvas.id, kind, colours, marks: bars.filter((bar) => Math.abs(bar.width) > 0.5).length };
  }

  // Places broken between lines, links that lead nowhere, tables whose sorting or filter does nothing: in words.
  function flaws() {
    const found = [];
    for (const place of document.querySelectorAll(".place")) {
      if (place.getBoundingClientRect().height > 2 * parseFloat(getComputedStyle(place).fontSize)) found.push("broken: " + place.textContent);
    }
    for (const link of document.querySelectorAll("main a[href^='#']")) {
      if (!document.getElementById(link.hash.slice(1))) found.push("no target: " + link.hash);
    }
    const order = (table) => [...table.tBodies[0].rows].map((row) => row.textContent).join();
    const table = [...document.querySelectorAll("table")].find((t) => t.querySelector(".sort"));
    if (table) {
      const before = order(table), button = table.querySelector(".sort");
      button.click();
      const first = order(table);
      button.click();
      if (first === before && order(table) === first) found.push("sorting changes nothing");
    }
    const field = document.querySelector(".filter input");
    if (field) {
      const rows = [...field.closest("label").nextElementSibling.querySelectorAll("tbody tr")];
      const type = (text) => ((field.value = text), field.dispatchEvent(new Event("input")));
      type("no row has this");
      if (rows.some((row) => !row.hidden)) found.push("the filter hides nothing");
      type("");
      if (rows.some((row) => row.hidden)) found.push("the filter does not give rows back");
    }
    return found;
  }

  // Every chart of every evaluation, drawn and looked at: how many colours and marks it has.
  window.__homenodeSelfCheck = () => {
    const before = views.findIndex((_, i) => !document.getElementById("evaluation-" + i).hidden), charts = [];
    views.forEach((_, i) => {
      show(i);
      for (const canvas of document.querySelectorAll("#evaluation-" + i + " canvas[data-chart]")) {
        charts.push(inspect(canvas));
      }
      for (const svg of document.querySelectorAll("#evaluation-" + i + " svg.line")) {
        charts.push({ id: "line", kind: "line", colours: null, marks: svg.querySelectorAll("rect.word").length });
      }
    });
    if (before >= 0) show(before);
    return { theme: root.dataset.theme, background: getComputedStyle(document.body).backgroundColor, evaluations: views.length, overflow: root.scrollWidth - root.clientWidth, charts, problems: flaws() };
  };
  applyTheme();
})();
