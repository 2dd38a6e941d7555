// SPDX-License-Identifier: Apache-2.0 OR MIT
// Draws every chart of the page, in the colours of the page.
"use strict";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function draw() {
  const ink = dark.matches ? "#d8d8d8" : "#1c1c1c";
  const lines = dark.matches ? "#3c3c3c" : "#e4e4e4";
  const config = {
    background: "transparent",
    axis: { gridColor: lines, domainColor: lines, tickColor: lines, labelColor: ink, titleColor: ink, titleFontWeight: "normal" },
    view: { stroke: null },
    header: { labelColor: ink },
    legend: { labelColor: ink, titleColor: ink, titleFontWeight: "normal", symbolLimit: 40 },
    title: { color: ink, fontSize: 12 },
    style: { text: { fill: ink } },
    range: { category: { scheme: "tableau20" } },
  };
  const actions = { export: true, source: false, compiled: false, editor: false };
  for (const chart of document.querySelectorAll(".chart")) {
    const spec = JSON.parse(chart.querySelector("script").textContent);
    let place = chart.querySelector(".drawing");
    if (!place) {
      place = document.createElement("div");
      place.className = "drawing";
      chart.append(place);
    }
    spec.description = chart.getAttribute("aria-label");
    vegaEmbed(place, spec, { actions, config, renderer: "svg" }).catch((error) => {
      place.textContent = `This chart cannot be drawn: ${error.message}`;
    });
  }
}

draw();
dark.addEventListener("change", draw);
