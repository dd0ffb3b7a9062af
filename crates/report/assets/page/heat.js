// The heat map: address bands downwards, time to the right. A cell is split between the nodes that reference it, in
// proportion; how strong the colour is says how many references, on a logarithmic scale.
"use strict";
const HOMENODE_STRIP = 8, HOMENODE_FOOT = 22;

function homenodeRgb(text) {
  const n = parseInt(text.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

function homenodeHeatLayout(canvas, heat) {
  const width = canvas.clientWidth;
  const left = Math.min(220, Math.max(84, Math.round(width * 0.2)));
  const row = Math.max(6, Math.min(18, Math.floor(560 / heat.rows.length)));
  return { width, left, row, plot: width - left - HOMENODE_STRIP - 3, height: row * heat.rows.length + HOMENODE_FOOT };
}

// Returns the rectangle of the cells, in pixels of the canvas.
function homenodeHeat(canvas, heat, nodes) {
  const layout = homenodeHeatLayout(canvas, heat), scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(layout.width * scale);
  canvas.height = Math.round(layout.height * scale);
  canvas.style.height = layout.height + "px";
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  ctx.fillStyle = homenodeColour("sunken");
  const x0 = layout.left + HOMENODE_STRIP + 3;
  ctx.fillRect(x0, 0, layout.plot, layout.row * heat.rows.length);
  const palette = Array.from({ length: nodes }, (_, n) => homenodeRgb(homenodeColour("n" + (n % 8))));
  const peak = heat.rows.reduce((m, r) => r.cells.reduce((a, c) => Math.max(a, c.reduce((s, v) => s + v, 0)), m), 1);
  heat.rows.forEach((band, i) => homenodeBand(ctx, heat, band, layout, palette, Math.log1p(peak), x0, i * layout.row));
  homenodeHeatLabels(ctx, heat, layout, x0);
  return { x: Math.ceil(x0 * scale), y: 0, width: Math.floor(layout.plot * scale), height: Math.floor(layout.row * heat.rows.length * scale) };
}

function homenodeBand(ctx, heat, band, layout, palette, logPeak, x0, y) {
  const paint = (node, alpha) => (ctx.fillStyle = "rgba(" + palette[node].join(",") + "," + alpha + ")");
  const height = layout.row;
  if (palette[band.home]) {
    paint(band.home, 1);
    ctx.fillRect(layout.left, y, HOMENODE_STRIP, height);
  }
  band.cells.forEach((cell, j) => {
    const total = cell.reduce((s, v) => s + v, 0);
    if (total === 0) return;
    const from = Math.round(x0 + (j * layout.plot) / heat.columns), to = Math.round(x0 + ((j + 1) * layout.plot) / heat.columns);
    const alpha = 0.2 + (0.8 * Math.log1p(total)) / logPeak;
    let top = y;
    cell.forEach((refs, node) => {
      if (refs === 0) return;
      const part = (height * refs) / total;
      paint(node, alpha);
      ctx.fillRect(from, top, to - from, part);
      top += part;
    });
  });
}

function homenodeHeatLabels(ctx, heat, layout, x0) {
  ctx.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
  ctx.textBaseline = "middle";
  for (let i = 0, j; i < heat.rows.length; i = j) {
    for (j = i + 1; j < heat.rows.length && heat.rows[j].object === heat.rows[i].object; j++);
    const top = i * layout.row, height = (j - i) * layout.row;
    ctx.fillStyle = homenodeColour("rule");
    if (i > 0) ctx.fillRect(0, top - 0.5, layout.left, 1);
    if (height < 11) continue;
    ctx.fillStyle = homenodeColour("ink");
    ctx.fillText(homenodeFit(ctx, heat.rows[i].object, layout.left - 10), 0, top + height / 2);
  }
  ctx.font = "12px " + homenodeFont();
  ctx.fillStyle = homenodeColour("muted");
  ctx.fillText("start", x0, layout.height - 8);
  ctx.textAlign = "right";
  ctx.fillText("time (references of all threads) →", layout.width, layout.height - 8);
  ctx.textAlign = "left";
}

function homenodeFit(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  // The end of a name is what tells one from another.
  let from = 1;
  while (from < text.length - 1 && ctx.measureText("…" + text.slice(from)).width > width) from++;
  return "…" + text.slice(from);
}

function homenodeHeatReadout(canvas, readout, heat, event) {
  const layout = homenodeHeatLayout(canvas, heat), box = canvas.getBoundingClientRect();
  const band = heat.rows[Math.floor((event.clientY - box.top) / layout.row)];
  const column = Math.floor(((event.clientX - box.left - layout.left - HOMENODE_STRIP - 3) / layout.plot) * heat.columns);
  if (!band) return;
  const range = "0x" + band.addr.toString(16) + " + " + band.bytes.toLocaleString("en") + " bytes of " + band.object + ", home node " + band.home;
  const cell = band.cells[column];
  const refs = cell ? cell.map((n, node) => n.toLocaleString("en") + " by node " + node).join(", ") : "";
  readout.textContent = cell ? range + ". Column " + (column + 1) + " of " + heat.columns + ": " + refs + "." : range + ".";
}
