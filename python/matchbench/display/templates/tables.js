// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tables that sort and filter, and the switches of engines where the page has some. Without this script the tables are plain HTML.
"use strict";
(() => {
  const units = { s: 1e9, ms: 1e6, us: 1e3, ns: 1 };
  const cellText = (row, column) => row.cells[column].textContent.trim();

  // The number at the start of a cell, a time in ns; NaN if there is none.
  function number(text) {
    const found = /^(-?\d[\d ]*(?:\.\d+)?(?:e[+-]?\d+)?)(?: (s|ms|us|ns)\b)?/.exec(text);
    return found ? Number(found[1].replaceAll(" ", "")) * (units[found[2]] ?? 1) : NaN;
  }

  function compare(a, b) {
    const [x, y] = [number(a), number(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) {
      // Numbers come before texts such as "not finished".
      return Number.isNaN(x) - Number.isNaN(y) || a.localeCompare(b);
    }
    return x - y;
  }

  function sort(table, column) {
    const heading = table.tHead.rows[0].cells[column];
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => compare(cellText(a, column), cellText(b, column)) * (down ? -1 : 1));
    body.append(...rows);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, column));
    });
  }

  const switches = [...document.querySelectorAll("button.engine")];
  const filter = document.getElementById("filter");
  const rows = [...document.querySelectorAll("tr[data-engine]")];

  function update() {
    const shown = switches.filter((each) => each.getAttribute("aria-pressed") === "true").map((each) => each.dataset.engine);
    const words = filter.value.toLowerCase().split(/\s+/);
    let left = 0;
    for (const row of rows) {
      const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = (switches.length > 0 && !shown.includes(row.dataset.engine)) || !words.every((word) => text.includes(word));
      left += row.hidden ? 0 : 1;
    }
    document.getElementById("shown").textContent = left === rows.length ? "" : `${left} of ${rows.length} rows`;
    document.dispatchEvent(new CustomEvent("engines", { detail: shown }));
  }

  function press(chosen) {
    for (const each of switches) each.setAttribute("aria-pressed", chosen(each));
    update();
  }

  for (const each of switches) {
    each.addEventListener("click", () => press((other) => (other === each) !== (other.getAttribute("aria-pressed") === "true")));
    each.addEventListener("dblclick", () => press((other) => other === each));
    each.title = "click: on or off; double-click: alone";
  }
  if (switches.length > 0) {
    document.getElementById("all").addEventListener("click", () => press(() => true));
    document.getElementById("none").addEventListener("click", () => press(() => false));
  }
  filter.addEventListener("input", update);
  document.getElementById("controls").hidden = false;
})();
