// Tables can be sorted by a button in each heading and filtered by words; without this script they are plain tables.
"use strict";
const HOMENODE_FILTER_ROWS = 6;

function homenodeKey(row, column) {
  const cell = row.cells[column];
  return cell.dataset.k === undefined ? cell.textContent.trim() : Number(cell.dataset.k);
}

function homenodeCompare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function homenodeSort(table, column) {
  const head = table.tHead.rows[0].cells[column], body = table.tBodies[0];
  const falling = head.getAttribute("aria-sort") === "ascending" || (!head.hasAttribute("aria-sort") && head.classList.contains("n"));
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const rows = [...body.rows].map((row) => [homenodeKey(row, column), row]);
  rows.sort((a, b) => (falling ? -1 : 1) * homenodeCompare(a[0], b[0]));
  body.append(...rows.map((r) => r[1]));
}

function homenodeFilter(table) {
  const label = document.createElement("label"), field = document.createElement("input");
  field.type = "search";
  label.className = "filter";
  label.append("Filter ", field);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.parentElement.before(label);
}

// A link to a row that is folded or filtered away shows it.
function homenodeReveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
  target.hidden = false;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

for (const table of document.querySelectorAll(".scroll > table")) {
  if (table.tBodies[0].rows.length < 3) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => homenodeSort(table, column));
    head.append(button);
  });
  if (table.tBodies[0].rows.length >= HOMENODE_FILTER_ROWS) homenodeFilter(table);
}
window.addEventListener("hashchange", homenodeReveal);
homenodeReveal();
