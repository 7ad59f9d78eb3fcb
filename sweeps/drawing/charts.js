"use strict";
// Draws every figure of a page when it comes into view, as wide as there is room; vegaEmbed comes with the page.

const figures = JSON.parse(document.getElementById("figures").textContent);
// one text form with the tables: fewer decimals if a number is large, a true minus
const number = (value) => value == null ? "–" : value.toFixed(3 - [10, 100, 1000].filter((size) => Math.abs(value) >= size).length).replace("-", "−");
const signed = (value) => value == null ? "–" : (Number(value.toFixed(3)) > 0 ? "+" : "") + number(Number(value.toFixed(3)));
const LOOK = { mode: "vega-lite", config: figures.config, actions: false, logLevel: 1, expressionFunctions: { number } };
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

function draw(figure, less = 0, before = Infinity) {  // with less room than there is, where labels need some
  const spec = chosen(figure), host = figure.querySelector(".chart"), room = host.clientWidth - less;
  const config = host.clientWidth < 600 ? { ...LOOK.config, legend: { ...LOOK.config.legend, columns: 2 } } : LOOK.config;
  vegaEmbed(host, fitted(spec, room), { ...LOOK, config, renderer: "svg", tooltip }).then(() => {
    const over = host.scrollWidth - host.clientWidth;
    if (over > 0 && over < before) return draw(figure, less + over, over);
    for (const text of host.querySelectorAll("text")) {  // a click on a name is one on its curve
      if (text.__data__?.datum?._kind === "name") Object.assign(text.style, { pointerEvents: "auto", cursor: "pointer" });
    }
  });
}

const chosen = (figure) => figures.views[figure.dataset.figure][figure.querySelector("select")?.value ?? 0];
const viewName = (figure) => figure.querySelector("select")?.selectedOptions[0].textContent ?? "";
const root = getComputedStyle(document.documentElement);

// the figure as a file: with its title, in the colours that the page has now
async function picture(spec) {
  const { view } = await vegaEmbed(document.createElement("div"), spec, { ...LOOK, renderer: "none" });
  return (await view.toSVG()).replace(/var\((--\w+)\)/g, (_, name) => root.getPropertyValue(name));
}

// the rows of what is shown, without those and without the columns that only serve to draw it
async function table(spec, name) {
  const { view } = await vegaEmbed(document.createElement("div"), spec, { ...LOOK, renderer: "none" });
  const axis = spec.spec?.encoding?.y?.axis?.title ?? "";  // the metric and its unit
  const cell = (value) => { const text = String(value ?? ""); return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  return Object.keys(spec.datasets).map((dataset) => {
    const rows = view.data(dataset).filter((row) => !["name", "mark", "note", "zero", "trained"].includes(row._kind));
    const columns = Object.keys(rows[0] ?? {}).filter((column) => !column.startsWith("_"));
    return [["view", "axis", ...columns], ...rows.map((row) => [name, axis, ...columns.map((column) => row[column])])].map((row) => row.map(cell).join(",")).join("\n");
  }).join("\n\n") + "\n";
}

async function save(figure, type) {
  const spec = chosen(figure), view = viewName(figure), text = await (type === "svg" ? picture(spec) : table(spec, view));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: type === "svg" ? "image/svg+xml" : "text/csv" }));
  link.download = `${[figure.dataset.figure, ...view.match(/[\w.-]+/g) ?? []].join("_")}.${type}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

// sorts by a column, then the other way round; cells without a value come last in both
function sortable(table) {
  const heads = [...table.querySelectorAll("th")];
  const key = (row, column) => { const text = row.cells[column].dataset.value ?? row.cells[column].querySelector("span").textContent; return text !== "" && !isNaN(text) ? Number(text) : text; };
  const missing = (value) => value === "" || value === "–";
  for (const head of heads) head.querySelector("button").addEventListener("click", () => {
    const column = head.cellIndex, sign = head.ariaSort === "ascending" ? -1 : 1;
    for (const other of heads) other.ariaSort = other === head ? (sign > 0 ? "ascending" : "descending") : "none";
    const compare = (a, b) => missing(a) || missing(b) ? missing(a) - missing(b) : sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => compare(key(a, column), key(b, column))));
  });
}

// the paired difference of any two, from those of all n < m
function comparable(place) {
  const { names, lengths, means, pairs } = JSON.parse(place.querySelector("script").textContent);
  const [first, other] = place.querySelectorAll("select");
  const mean = (values) => { const known = values.filter((value) => value !== null); return known.length ? known.reduce((a, b) => a + b) / known.length : null; };
  const fill = () => {
    const n = Number(first.value), m = Number(other.value), [low, high] = [Math.min(n, m), Math.max(n, m)], turn = n < m ? 1 : -1;
    const pair = n === m ? null : pairs[low * names.length - low * (low + 1) / 2 + high - low - 1];
    place.querySelector("tbody").replaceChildren(...lengths.map((length, t) => {
      const row = document.createElement("tr"), [value, half, p] = pair ? pair[t] : [null, null, null];
      const ends = half === null || value === null ? "–" : `[${signed(turn * value - half)}, ${signed(turn * value + half)}]`;
      const seeds = means[n][t].map((a, s) => a === null || means[m][t][s] === null ? "–" : signed(a - means[m][t][s]));
      const cells = [length, number(mean(means[n][t])), number(mean(means[m][t])), value === null ? "–" : signed(turn * value), ends, p === null ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3), seeds.join(", ")];
      row.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      row.firstChild.className = "left";
      return row;
    }));
  };
  for (const select of [first, other]) select.addEventListener("change", fill);
  fill();
}

const all = [...document.querySelectorAll("[data-figure]")];
const watch = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => { watch.unobserve(target); draw(target); }), { rootMargin: "400px" });
for (const figure of all) {
  watch.observe(figure);
  figure.querySelector("select")?.addEventListener("change", () => draw(figure));
  figure.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", () => save(figure, button.dataset.save)));
}
document.querySelectorAll("table.sortable").forEach(sortable);
document.querySelectorAll(".compare").forEach(comparable);
let waiting, width = innerWidth;
addEventListener("resize", () => {
  clearTimeout(waiting);
  if (innerWidth !== width) waiting = setTimeout(() => { width = innerWidth; all.forEach((figure) => { watch.unobserve(figure); watch.observe(figure); }); }, 200);
});
addEventListener("beforeprint", () => all.forEach((figure) => draw(figure)));
document.querySelector("nav details").open = innerWidth >= 1100;  // a phone shows the page first
