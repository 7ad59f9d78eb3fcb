"use strict";
// Charts of the report: hover names a curve, a click isolates it, families can be hidden. No library.

const report = JSON.parse(document.getElementById("data").textContent);
const NUMBER_OF_COLOURS = 8, TOGETHER = 10;
const UNITS = { loss: "loss, nats per token", bits_per_byte: "bits per byte", tokens_per_second: "tokens per second", peak_memory: "peak memory, bytes", accuracy: "accuracy, share right" };

const tokens = (n) => n.toLocaleString("en");
const shown = (y) => Math.abs(y) >= 1e4 ? Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(y) : y.toFixed(Math.abs(y) >= 100 ? 1 : 3).replace("-", "−");
const mean = (values) => { const known = values.filter((v) => v !== null); return known.length ? known.reduce((a, b) => a + b) / known.length : null; };
const both = (f) => (a, b) => a === null || b === null || a === undefined || b === undefined ? null : f(a, b);
const minus = both((a, b) => a - b);

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "text", "circle", "line", "rect", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) key.startsWith("on") ? node.addEventListener(key.slice(2), value) : node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function choice(label, options, chosen, change) {
  if (options.length < 2) return "";
  const select = make("select", { onchange: (event) => change(event.target.value) });
  for (const [value, text] of options) { const option = make("option", { value }, text); option.selected = value === chosen; select.append(option); }
  return make("label", {}, `${label} `, select);
}

// places at least `gap` apart, near the sorted ones that are wanted
function spaced(wanted, gap, low, high) {
  const groups = [];
  wanted.forEach((place, n) => {
    groups.push([place - n * gap, 1]);
    while (groups.length > 1 && groups.at(-2)[0] / groups.at(-2)[1] > groups.at(-1)[0] / groups.at(-1)[1]) {
      const [total, count] = groups.pop();
      groups.at(-1)[0] += total; groups.at(-1)[1] += count;
    }
  });
  const room = Math.max(low, high - gap * (wanted.length - 1));
  return groups.flatMap(([total, count]) => Array(count).fill(total / count)).map((start, n) => Math.min(Math.max(start, low), room) + n * gap);
}

function ticks(low, high) {
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw)), step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(n * step);
  const text = (y) => Math.abs(high) >= 1e4 ? shown(y) : y.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))).replace("-", "−");
  return found.map((y) => [y, text(y)]);
}

// all curves, but a few that explode do not flatten the others
function limits(lines, zero) {
  const values = lines.flatMap((line) => [...line.y, ...line.low, ...line.high]).filter((y) => y !== null);
  const highest = lines.map((line) => Math.max(...line.y.filter((y) => y !== null))).filter(Number.isFinite).sort((a, b) => a - b);
  let low = Math.min(...values), high = Math.max(...values);
  const most = highest[Math.floor(0.9 * (highest.length - 1))];
  if (high > low + 2 * (most - low) && most > low) high = low + 1.3 * (most - low);
  if (zero) { low = Math.min(low, 0); high = Math.max(high, 0); }
  const margin = 0.05 * (high - low) || 0.1;
  return [low - margin, high + margin];
}

// one SVG of panels; `panels`: [{title, lines: [{name, label, colour, dash, x, y, low, high, seeds, two}]}]
function draw(host, { panels, trained, xTitle, yTitle, zero, state, redraw }) {
  const every = panels.flatMap((panel) => panel.lines), width = Math.max(host.clientWidth, 420);
  host.replaceChildren();
  if (!every.some((line) => line.y.some((y) => y !== null))) { host.append(make("p", { class: "note" }, "Nothing to show: no values.")); return; }
  const columns = panels.length === 1 ? 1 : Math.max(1, Math.min(3, panels.length, Math.floor(width / 400)));
  const rows = Math.ceil(panels.length / columns);
  const cell = width / columns, height = panels.length === 1 ? Math.min(720, Math.max(400, 15 * every.length + 130)) : 262;
  const names = every.map((line) => line.label.length + (line.y.at(-1) === null ? 12 : 8)), right = Math.min(cell * 0.42, 6.3 * Math.max(...names) + 14);
  const left = 52, top = panels.some((panel) => panel.title) ? 26 : 10, bottom = 42;
  const [low, high] = limits(every, zero), lengths = [...new Set(every.flatMap((line) => line.x))].sort((a, b) => a - b);
  const first = Math.log2(lengths[0]), last = Math.log2(lengths.at(-1)), spread = last - first || 1;
  const X = (n) => left + 8 + (cell - left - right - 16) * (Math.log2(n) - first) / spread, Y = (y) => top + (height - top - bottom) * (1 - (y - low) / (high - low));
  const svg = make("svg", { viewBox: `0 0 ${width} ${height * rows}`, role: "img", "aria-label": `${yTitle} against ${xTitle}` });
  const tip = make("div", { class: "tip", hidden: "" });
  const points = [];
  panels.forEach((panel, number) => {
    const dx = cell * (number % columns), dy = height * Math.floor(number / columns), end = cell - right;
    const g = make("g", { transform: `translate(${dx} ${dy})` });
    for (const [y, text] of ticks(low, high)) g.append(make("line", { class: "grid", x1: left, x2: end, y1: Y(y), y2: Y(y) }), make("text", { x: left - 7, y: Y(y) + 4, "text-anchor": "end" }, text));
    let free = -Infinity;
    for (const n of lengths) if ((n & (n - 1)) === 0 || lengths.length < 8) {
      if (X(n) < free) continue;
      g.append(make("text", { x: X(n), y: height - bottom + 17, "text-anchor": "middle" }, tokens(n))); free = X(n) + 6.5 * (tokens(n).length + 1.5);
    }
    g.append(make("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${end}` }));
    g.append(make("text", { x: (left + end) / 2, y: height - bottom + 35, "text-anchor": "middle" }, xTitle));
    if (panel.title) g.append(make("text", { class: "title", x: left, y: top - 10 }, panel.title));
    if (trained >= lengths[0] && trained <= lengths.at(-1)) {
      g.append(make("line", { class: "trained", x1: X(trained), x2: X(trained), y1: top, y2: height - bottom }));
      if (number === 0) g.append(make("text", { x: X(trained) + 5, y: top + 10 }, `trained at ${tokens(trained)}`));
    }
    if (zero) g.append(make("line", { class: "zero", x1: left, x2: end, y1: Y(0), y2: Y(0) }), ...(number === 0 ? [make("text", { x: left + 6, y: height - bottom - 6 }, `below the line: better than ${zero}`)] : []));
    const clip = `M${left} ${top}`, inside = (y) => y !== null && y <= high && y >= low;
    const path = (line) => line.x.map((x, t) => [x, line.y[t], line.x[t - 1], line.y[t - 1], line.x[t + 1], line.y[t + 1]]).map(([x, y, x0, y0, x1, y1]) => {
      const edge = (xa, ya, xb, yb) => { const share = (high - ya) / (yb - ya); return `${X(xa) + share * (X(xb) - X(xa))} ${Y(high)}`; };
      if (y === null) return "";
      if (y > high) return y0 !== null && y0 !== undefined && y0 <= high ? `L${edge(x0, y0, x, y)}` : "";
      const start = y0 === null || y0 === undefined ? "M" : y0 > high ? `M${edge(x0, y0, x, y)}L` : "L";
      return `${start}${X(x)} ${Y(Math.max(y, low))}`;
    }).join("") || clip;
    if (panels.length > 1) for (const line of every) if (!panel.lines.includes(line)) g.append(make("path", { class: "ghost", d: path(line) }));
    const labels = [];
    for (const line of panel.lines) {
      const node = make("g", { class: "line", "data-name": line.name, style: `color: var(--c${line.colour})`, onclick: () => { toggle(state.isolated, line.name); redraw(); } });
      const band = line.x.map((x, t) => [X(x), line.low[t], line.high[t]]).filter(([, a, b]) => a !== null && b !== null).map(([x, a, b]) => [x, Y(Math.max(Math.min(a, high), low)), Y(Math.max(Math.min(b, high), low))]);
      if (band.length > 1 && !line.two) node.append(make("path", { class: "band", d: `M${band.map(([x, a]) => `${x} ${a}`).join("L")}L${band.reverse().map(([x, , b]) => `${x} ${b}`).join("L")}Z` }));
      node.append(make("path", { class: line.two ? "mean two" : "mean", d: path(line), "stroke-dasharray": line.two ? "2 3" : line.dash ? "7 3" : "none" }));
      if (line.x.length < 10) line.x.forEach((x, t) => inside(line.y[t]) && node.append(make("circle", { cx: X(x), cy: Y(line.y[t]), r: 2.6 })));
      if (line.two) line.seeds.forEach((seed) => seed.forEach((y, t) => inside(y) && node.append(make("circle", { class: "seed", cx: X(line.x[t]), cy: Y(y), r: 3.6 }))));
      line.x.forEach((x, t) => inside(line.y[t]) && points.push({ x: dx + X(x), y: dy + Y(line.y[t]), line, t }));
      const known = line.y.map((y, t) => [y, t]).filter(([y]) => y !== null), [y, t] = known.at(-1) || [high, -1];
      let text = line.label, lead = t === line.x.length - 1;
      if (t < line.x.length - 1) {
        text = t < 0 ? `${line.label}: no value` : `× ${line.label}: none past ${tokens(line.x[t])}`;
        if (t >= 0 && inside(y)) node.append(make("text", { x: X(line.x[t]), y: Y(y) + 7, "text-anchor": "middle", "font-size": 20 }, "×"));
      } else if (y > high) { text = `▲ ${line.label} ${shown(y)}`; lead = false; }
      labels.push({ node, text, lead, y, at: Y(Math.min(Math.max(y, low), high)) });
      g.append(node);
    }
    labels.sort((a, b) => b.y - a.y);
    const gap = Math.min(14, (height - top - bottom + 20) / Math.max(labels.length - 1, 1));
    spaced(labels.map((label) => label.at), gap, top, height - bottom + 6).forEach((place, n) => {
      const { node, text, lead, at } = labels[n];
      if (lead) node.append(make("path", { class: "lead", d: `M${X(lengths.at(-1)) + 4} ${at}L${end + 8} ${place}` }));
      node.append(make("text", { x: end + 11, y: place + 4, "font-size": Math.min(12, gap) }, text));
    });
    svg.append(g);
  });
  svg.prepend(make("text", { x: -height * rows / 2, y: 11, transform: "rotate(-90)", "text-anchor": "middle" }, yTitle));
  const light = (name) => {
    const lit = name ? new Set([name]) : state.isolated;
    svg.classList.toggle("lit", lit.size > 0);
    svg.querySelectorAll(".line").forEach((node) => node.classList.toggle("on", lit.has(node.dataset.name)));
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), scale = width / box.width, x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    const far = (point) => Math.hypot(point.x - x, 1.6 * (point.y - y)), near = points.reduce((a, b) => far(b) < far(a) ? b : a);
    const named = event.target.closest?.(".line")?.dataset.name, hit = far(near) < 34;
    light(hit ? near.line.name : named);
    tip.hidden = !hit;
    if (!hit) return;
    const { line, t } = near, ends = line.low[t] !== null && line.low[t] !== line.high[t] ? `${line.ends} ${shown(line.low[t])} to ${shown(line.high[t])}` : "";
    tip.replaceChildren(make("b", {}, line.label), ` ${shown(line.y[t])}`, make("br"), `at ${tokens(line.x[t])} tokens`, ...(ends ? [make("br"), ends] : []), ...line.more(t).flatMap((text) => [make("br"), text]));
    tip.style.left = `${Math.min(near.x / scale + 14, box.width - tip.offsetWidth)}px`;
    tip.style.top = `${near.y / scale + 14}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; light(); });
  host.append(svg, tip);
  host.light = light;
  light();
}

const toggle = (set, item) => set.has(item) ? set.delete(item) : set.add(item);

// families side by side, or all together: colours tell apart what shares a panel
function arranged(setting, lines, apart) {
  const families = [...new Set(setting.order.map((name) => setting.methods[name].family))];
  const colours = (group) => group.map((line, n) => ({ ...line, colour: n % NUMBER_OF_COLOURS, dash: n >= NUMBER_OF_COLOURS }));
  if (apart) return families.map((title) => ({ title, lines: colours(lines.filter((line) => setting.methods[line.name].family === title)) })).filter((panel) => panel.lines.length);
  if (lines.length <= TOGETHER) return [{ title: "", lines: colours(lines) }];
  return [{ title: "", lines: lines.map((line) => ({ ...line, colour: families.indexOf(setting.methods[line.name].family) % NUMBER_OF_COLOURS })) }];
}

// values of each seed under a view: as they are, as a change since the training length, or against the reference
function viewed(setting, curves, name, view) {
  const own = curves.methods[name]?.none;
  if (!own) return null;
  const start = curves.lengths.indexOf(setting.trained_length), other = curves.methods[setting.reference]?.none;
  const change = { change: (seed, s) => seed.map((v) => minus(v, seed[start])), difference: (seed, s) => seed.map((v, t) => minus(v, other?.seeds[s]?.[t])), perplexity: (seed) => seed.map((v) => v === null ? null : Math.exp(v)) }[view];
  const seeds = change ? own.seeds.map(change) : own.seeds;
  const column = (f) => curves.lengths.map((_, t) => f(seeds.map((seed) => seed[t]).filter((v) => v !== null)));
  const ends = (f) => column((values) => values.length ? f(...values) : null);
  const y = view === "perplexity" ? own.value.map((v) => v === null ? null : Math.exp(v)) : view === "value" ? own.value : column(mean);
  const interval = (t) => view === "value" && own.low[t] !== null ? [`95 % interval ${shown(own.low[t])} to ${shown(own.high[t])}`] : [];
  return { name, label: name, x: curves.lengths, y, low: ends(Math.min), high: ends(Math.max), seeds, ends: "seeds", more: interval, two: setting.bimodal.some((one) => one.method === name && one.extension === "none") };
}

function legend(host, setting, names, state, redraw, light) {
  const families = new Map();
  for (const name of names) { const family = setting.methods[name].family; families.set(family, [...(families.get(family) || []), name]); }
  for (const [family, members] of families) {
    const group = make("div", {}, make("button", { class: state.hidden.has(family) ? "family off" : "family", title: "show or hide this family", onclick: () => { toggle(state.hidden, family); redraw(); } }, family));
    for (const name of members) group.append(make("button", { "aria-pressed": state.isolated.has(name), title: "isolate; click again to release", onclick: () => { toggle(state.isolated, name); redraw(); }, onpointerenter: () => light(name), onpointerleave: () => light() }, name));
    host.append(group);
  }
  if (state.isolated.size) host.append(make("button", { onclick: () => { state.isolated.clear(); redraw(); } }, "× release all"));
}

function methodsChart(host, setting, byPosition) {
  const protocols = Object.keys(setting.protocols).filter((name) => byPosition === (name === "by_position"));
  if (!protocols.length) return;
  const state = { protocol: protocols[0], view: "value loss", layout: setting.order.length > TOGETHER ? "families" : "together", hidden: new Set(), isolated: new Set() };
  const redraw = () => {
    const metrics = setting.protocols[state.protocol], views = [];
    for (const [metric, curves] of Object.entries(metrics)) {
      if (!Object.values(curves.methods).some((of) => of.none?.value.some((v) => v !== null))) continue;
      const text = metric.replaceAll("_", " ");
      views.push([`value ${metric}`, text]);
      if (metric !== "loss" && metric !== setting.metric) continue;
      if (!byPosition) views.push([`change ${metric}`, `${text}: change since the training length`]);
      if (setting.order.length > 1) views.push([`difference ${metric}`, `${text}: difference to ${setting.reference}`]);
      if (metric === "loss") views.push(["perplexity loss", "perplexity"]);
    }
    if (!views.some(([value]) => value === state.view)) state.view = views[0]?.[0] || "value loss";
    const [view, metric] = state.view.split(" "), curves = metrics[metric];
    const names = setting.order.filter((name) => curves.methods[name]), lines = names.map((name) => viewed(setting, curves, name, view)).filter((line) => line && !state.hidden.has(setting.methods[line.name].family));
    const unit = UNITS[metric] || metric.replaceAll("_", " "), zero = view === "change" ? "at the training length" : view === "difference" ? setting.reference : "";
    const controls = make("div", { class: "controls" }, choice("protocol", protocols.map((name) => [name, name]), state.protocol, (value) => { state.protocol = value; redraw(); }), choice("show", views, state.view, (value) => { state.view = value; redraw(); }), choice("as", [["families", "one panel a family"], ["together", "one panel"]], state.layout, (value) => { state.layout = value; redraw(); }));
    const chart = make("div", { class: "chart" }), keys = make("div", { class: "legend" });
    legend(keys, setting, names, state, redraw, (name) => chart.light?.(name));
    host.replaceChildren(controls, keys, chart);
    const where = byPosition ? "position in the context, tokens" : `evaluated length, tokens (${state.protocol})`;
    const title = view === "perplexity" ? "perplexity" : view === "change" ? `change of ${unit}` : view === "difference" ? `${metric.replaceAll("_", " ")} − that of ${setting.reference}` : unit;
    draw(chart, { panels: arranged(setting, lines, state.layout === "families"), trained: setting.trained_length, xTitle: where, yTitle: title, zero, state, redraw });
  };
  redraw();
  host.redraw = redraw;
}

function extensionsChart(host, setting) {
  const found = setting.extensions, many = Object.keys(found).filter((name) => Object.keys(found[name]).length > 1).sort((a, b) => Object.keys(found[b]).length - Object.keys(found[a]).length);
  const state = { method: many[0], hidden: new Set(), isolated: new Set() };
  const redraw = () => {
    const line = (name, label, of) => ({ name, label, x: of.lengths, y: of.value, low: of.low, high: of.high, seeds: [], ends: "95 % interval", more: () => [], two: false });
    const methods = setting.order.filter((name) => found[name]?.none).map((name) => line(name, name, found[name].none));
    const own = many.length ? Object.entries(found[state.method]).map(([name, of], n) => ({ ...line(name, name === "none" ? "no extension" : name, of), colour: n % NUMBER_OF_COLOURS, dash: n >= NUMBER_OF_COLOURS })) : [];
    const chart = make("div", { class: "chart" });
    host.replaceChildren(make("div", { class: "controls" }, choice("trained with", many.map((name) => [name, name]), state.method, (value) => { state.method = value; state.isolated.clear(); redraw(); })), chart);
    const panels = many.length ? [{ title: `${state.method} under extensions`, lines: own }] : arranged(setting, methods, methods.length > TOGETHER);
    draw(chart, { panels, trained: setting.trained_length, xTitle: `evaluated length, tokens (${setting.protocol})`, yTitle: "loss − loss of crop, nats per token", zero: "crop", state, redraw });
  };
  redraw();
  host.redraw = redraw;
}

function sortable(table) {
  table.querySelectorAll("th[data-sort]").forEach((head) => head.addEventListener("click", () => {
    const body = table.tBodies[0], column = head.cellIndex, down = head.dataset.down === "1";
    head.dataset.down = down ? "0" : "1";
    const key = (row) => { const text = row.cells[column].dataset.value ?? row.cells[column].textContent; return text === "" || isNaN(text) ? text : Number(text); };
    const compare = (a, b) => key(a) === "" ? 1 : key(b) === "" ? -1 : (typeof key(a) === "number" && typeof key(b) === "number" ? key(a) - key(b) : String(key(a)).localeCompare(key(b))) * (down ? -1 : 1);
    body.append(...[...body.rows].sort(compare));
  }));
}

const charts = [...document.querySelectorAll("[data-chart]")];
for (const host of charts) {
  const setting = report.settings[Number(host.dataset.setting)];
  host.dataset.chart === "extensions" ? extensionsChart(host, setting) : methodsChart(host, setting, host.dataset.chart === "position");
}
document.querySelectorAll("table.sortable").forEach(sortable);
let waiting;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => charts.forEach((host) => host.redraw?.()), 150); });
