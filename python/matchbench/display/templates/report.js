// SPDX-License-Identifier: Apache-2.0 OR MIT
// Draws the charts of the page for one trace, with the engines that are switched on.
// Ink is `currentColor`, so that style sheets for dark screens and for paper apply to charts too.
"use strict";
(() => {
  const faint = { gridColor: "currentColor", gridOpacity: 0.15 };
  const axis = { ...faint, domainColor: "currentColor", tickColor: "currentColor", labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal" };
  const text = { labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal" };
  const config = {
    background: "transparent",
    axis,
    view: { stroke: null },
    header: text,
    legend: { ...text, symbolLimit: 40, symbolBaseFillColor: "currentColor", symbolBaseStrokeColor: "currentColor" },
    title: { color: "currentColor", fontSize: 12 },
    text: { color: "currentColor" },
  };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const most = 300; // rows of a table of a chart's data
  const views = new Map();
  let shown = null;

  // Every width of the specification becomes the page's, less what is beside the plotted area.
  function fit(part, width, narrow) {
    if (Array.isArray(part)) return part.map((each) => fit(each, width, narrow));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(
      Object.entries(part).map(([key, value]) => {
        if (key === "data") return [key, value];
        if (key === "width") return [key, width];
        if (key === "labelLimit" && narrow) return [key, 130];
        // A legend that is wider than the chart would make the chart smaller.
        if (key === "legend") return [key, value && narrow ? { ...value, columns: 1 } : value];
        return [key, fit(value, width, narrow)];
      }),
    );
  }

  function dataTable(spec) {
    const parts = (spec.vconcat ?? [spec]).map((part) => part.data.values.trim().split("\n").map((line) => line.split(",")));
    const [head, ...rows] = [parts[0][0], ...parts.flatMap((part) => part.slice(1))];
    const table = document.createElement("table");
    table.createTHead().insertRow().append(
      ...head.map((name) => Object.assign(document.createElement("th"), { scope: "col", textContent: name })),
    );
    const body = table.createTBody();
    for (const row of rows.slice(0, most)) {
      const line = body.insertRow();
      for (const value of row) line.insertCell().textContent = value;
    }
    if (rows.length > most) {
      table.createCaption().textContent = `The first ${most} of ${rows.length} rows; the CSV files hold all.`;
    }
    return table;
  }

  function addDataTable(chart, spec) {
    const details = document.createElement("details");
    details.className = "data";
    const summary = document.createElement("summary");
    summary.textContent = "Data of this chart as a table";
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) {
        const place = document.createElement("div");
        place.className = "scroll";
        place.tabIndex = 0;
        place.role = "region";
        place.ariaLabel = `${chart.getAttribute("aria-label")}: data`;
        place.append(dataTable(spec));
        details.append(place);
      }
    });
    chart.after(details);
  }

  async function draw(chart) {
    const spec = JSON.parse(chart.querySelector("script").textContent);
    let place = chart.querySelector(".drawing");
    if (!place) {
      place = document.createElement("div");
      place.className = "drawing";
      chart.append(place);
      // A strip's label and queue are numbers in its data.
      if (!spec.facet) addDataTable(chart, spec);
    }
    const space = chart.clientWidth;
    const inWindow = window.innerWidth;
    const narrow = space < 620;
    const margin = narrow ? Math.min(spec.usermeta.margin, 248) : spec.usermeta.margin;
    const fitted = fit(spec, Math.max(120, Math.min(820, space - margin)), narrow);
    fitted.description = `${chart.getAttribute("aria-label")}. ${chart.getAttribute("aria-description")}`;
    if (shown && fitted.params) {
      for (const each of fitted.params) if (each.name === "shown") each.value = shown;
    }
    const choice = place.querySelector(".vega-bindings select");
    if (choice) for (const each of fitted.params) if (each.name === "measure") each.value = choice.value;
    const actions = { export: true, source: false, compiled: false, editor: false };
    const tooltip = { theme: dark.matches ? "dark" : "light" };
    try {
      const { view } = await vegaEmbed(place, fitted, { actions, config, renderer: "svg", tooltip });
      place.querySelector("details > summary").ariaLabel = "Save this chart";
      views.set(chart, view);
      chart.dataset.drawnFor = inWindow;
    } catch (error) {
      place.textContent = `This chart cannot be drawn: ${error.message}`;
      console.error(error);
    }
  }

  const select = document.getElementById("trace");
  const figures = [...document.querySelectorAll("figure[data-trace]")];

  // Charts of other traces are drawn when their trace is chosen.
  function show(redraw) {
    for (const figure of figures) {
      const trace = figure.dataset.trace;
      figure.hidden = trace !== "" && Boolean(select) && trace !== select.value;
      const chart = figure.querySelector(".chart");
      if (!figure.hidden && (redraw || !views.has(chart))) draw(chart);
    }
  }

  document.addEventListener("engines", (event) => {
    shown = event.detail;
    for (const [chart, view] of views) {
      const spec = chart.querySelector("script").textContent;
      if (spec.includes('"shown"')) view.signal("shown", shown).runAsync();
    }
  });
  if (select) {
    document.getElementById("choose").hidden = select.options.length < 2;
    select.addEventListener("change", () => show(false));
  }
  let width = window.innerWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    // A print preview and a phone's address bar change the height alone.
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => { views.clear(); show(true); }, 200);
  });
  show(true);
})();
