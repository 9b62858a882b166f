// Draws every element with data-chart: the address of a Vega-Lite specification {spec, configs}. Again when colours or its data change.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");

async function draw(place) {
  const answer = await fetch(place.dataset.chart);
  if (!answer.ok) { place.textContent = "The chart cannot be drawn now."; return; }
  const { spec, configs } = await answer.json();
  const theme = dark.matches ? "dark" : "light";
  await vegaEmbed(place, spec, {
    mode: "vega-lite",
    renderer: "svg",
    ast: true, // no code is made from text, so the page can forbid that
    config: configs[theme],
    tooltip: { theme: theme },
    actions: false,
  });
}

const drawAll = () => document.querySelectorAll("[data-chart]").forEach(draw);
drawAll();
dark.addEventListener("change", drawAll);
document.body.addEventListener("htmx:afterSettle", (event) => event.target.querySelectorAll("[data-chart]").forEach(draw));
