"use strict";
// Draws every figure of a page when it comes into view, as wide as there is room; vegaEmbed comes with the page.

const figures = JSON.parse(document.getElementById("figures").textContent);
const LOOK = { mode: "vega-lite", config: figures.config, actions: false, logLevel: 1 };
const listed = (facts) => Object.entries(facts).map(([name, value]) => `${name}: ${value}`).join("\n");
const said = (value) => typeof value === "object" ? value.told ?? listed(value) : String(value);
const tooltip = { formatTooltip: (value, sanitize) => sanitize(said(value)).replace(/^.*/, "<b>$&</b>").replaceAll("\n", "<br>") };

// the panels that fit side by side, stretched to the room that there is
function fitted(spec, width) {
  const { title, ...rest } = spec;  // the page has a heading
  if (spec.vconcat) return { ...spec, vconcat: spec.vconcat.map((row) => fitted(row, width)) };
  if (spec.concat) return { ...rest, columns: Math.max(1, Math.min(spec.columns, Math.floor(width / spec.usermeta.narrowest))) };
  if (!spec.facet) return spec;
  const { beside, narrowest, axis } = spec.usermeta, gap = 16;
  const columns = Math.max(1, Math.min(spec.columns, Math.floor((width - axis) / (narrowest + beside + gap))));
  const own = Math.max(120, Math.floor((width - axis) / columns) - beside - gap);
  return { ...rest, columns, spec: { ...spec.spec, width: Math.min(own, 900) } };
}

function draw(figure) {
  const spec = chosen(figure), host = figure.querySelector(".chart");
  vegaEmbed(host, fitted(spec, host.clientWidth), { ...LOOK, renderer: "svg", tooltip });
}

const chosen = (figure) => figures.views[figure.dataset.figure][figure.querySelector("select")?.value ?? 0];
const root = getComputedStyle(document.documentElement);

// the figure as a file: with its title, in the colours that the page has now
async function picture(spec) {
  const { view } = await vegaEmbed(document.createElement("div"), spec, { ...LOOK, renderer: "none" });
  return (await view.toSVG()).replace(/var\((--\w+)\)/g, (_, name) => root.getPropertyValue(name));
}

// the rows of what is shown, without those and without the columns that only serve to draw it
function table(spec) {
  return Object.values(spec.datasets).map((text) => {
    const rows = [[]];
    text.trim().replace(/("(?:[^"]|"")*"|[^,\n]*)(,|\n|$)/g, (_, cell, end) => { rows.at(-1).push(cell); if (end === "\n") rows.push([]); });
    const kind = rows[0].indexOf("_kind"), columns = [...rows[0].keys()].filter((n) => rows[0][n] && !rows[0][n].startsWith("_"));
    return rows.filter((row) => !["name", "mark", "note"].includes(row[kind])).map((row) => columns.map((n) => row[n]).join(",")).join("\n");
  }).join("\n\n") + "\n";
}

async function save(figure, type) {
  const spec = chosen(figure), text = type === "svg" ? await picture(spec) : table(spec);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: type === "svg" ? "image/svg+xml" : "text/csv" }));
  link.download = `${figure.dataset.figure}.${type}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function sortable(table) {
  table.querySelectorAll("th").forEach((head) => head.addEventListener("click", () => {
    const body = table.tBodies[0], column = head.cellIndex, down = head.dataset.down === "1";
    head.dataset.down = down ? "0" : "1";
    const key = (row) => { const text = row.cells[column].dataset.value ?? row.cells[column].textContent; return text === "" || isNaN(text) ? text : Number(text); };
    const compare = (a, b) => key(a) === "" ? 1 : key(b) === "" ? -1 : (typeof key(a) === "number" && typeof key(b) === "number" ? key(a) - key(b) : String(key(a)).localeCompare(key(b))) * (down ? -1 : 1);
    body.append(...[...body.rows].sort(compare));
  }));
}

const all = [...document.querySelectorAll("[data-figure]")];
const watch = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => { watch.unobserve(target); draw(target); }), { rootMargin: "400px" });
for (const figure of all) {
  watch.observe(figure);
  figure.querySelector("select")?.addEventListener("change", () => draw(figure));
  figure.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", () => save(figure, button.dataset.save)));
}
document.querySelectorAll("table.sortable").forEach(sortable);
let waiting, width = innerWidth;
addEventListener("resize", () => {
  clearTimeout(waiting);
  if (innerWidth !== width) waiting = setTimeout(() => { width = innerWidth; all.forEach((figure) => { watch.unobserve(figure); watch.observe(figure); }); }, 200);
});
addEventListener("beforeprint", () => all.forEach(draw));
document.querySelector("nav details").open = innerWidth >= 1100;  // a phone shows the page first
