"use strict";
// What the charts of the report show: protocols, views, families, extensions; and tables that sort.

const report = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 8, TOGETHER = 10;
const UNITS = { loss: "loss, nats per token", bits_per_byte: "bits per byte", tokens_per_second: "tokens per second", peak_memory: "peak memory, bytes", accuracy: "accuracy, share of the answer", exact_match: "exact match, share of answers", margin: "margin, nats" };
const SHARES = ["accuracy", "exact_match"];
const plain = (metric) => metric.replaceAll("_", " ");
const mean = (values) => { const some = known(values); return some.length ? some.reduce((a, b) => a + b) / some.length : null; };
const minus = (a, b) => a === null || b === null || a === undefined || b === undefined ? null : a - b;
const exp = (v) => v === null ? null : Math.exp(v);

// a task may count lengths in another way than in tokens
const long = (setting) => (n) => setting.in_tokens ? `${tokens(n)} tokens` : `length ${tokens(n)}`;
const axis = (setting, protocol) => `evaluated length${setting.in_tokens ? ", tokens" : ""} (${protocol})`;

function choice(label, options, chosen, change) {
  if (options.length < 2) return "";
  const select = make("select", { onchange: (event) => change(event.target.value) });
  for (const [value, text] of options) { const option = make("option", { value }, text); option.selected = value === chosen; select.append(option); }
  return make("label", {}, `${label} `, select);
}

const toggle = (set, item) => set.has(item) ? set.delete(item) : set.add(item);

// families side by side, or all together; a method has the same colour in every chart of a setting
function arranged(setting, lines, apart) {
  const families = [...new Set(setting.order.map((name) => setting.methods[name].family))];
  const of = (family) => setting.order.filter((name) => setting.methods[name].family === family);
  const coloured = (line, names) => ({ ...line, colour: names.indexOf(line.name) % COLOURS, dash: names.indexOf(line.name) >= COLOURS });
  if (apart) return families.map((title) => ({ title, lines: lines.filter((line) => of(title).includes(line.name)).map((line) => coloured(line, of(title))) })).filter((panel) => panel.lines.length);
  if (setting.order.length <= TOGETHER) return [{ title: "", lines: lines.map((line) => coloured(line, setting.order)) }];
  return [{ title: "", lines: lines.map((line) => ({ ...line, colour: families.indexOf(setting.methods[line.name].family) % COLOURS })) }];
}

// values of each seed under a view: as they are, as a change since the training length, or against the reference
function viewed(setting, metric, curves, name, view, byPosition) {
  const own = curves.methods[name]?.none;
  if (!own) return null;
  const start = curves.lengths.indexOf(setting.trained_length), other = curves.methods[setting.reference]?.none;
  const change = { change: (seed, s) => seed.map((v) => minus(v, seed[start])), difference: (seed, s) => seed.map((v, t) => minus(v, other?.seeds[s]?.[t])), perplexity: (seed) => seed.map(exp) }[view];
  const seeds = change ? own.seeds.map(change) : own.seeds;
  const column = (f) => curves.lengths.map((_, t) => f(seeds.map((seed) => seed[t]).filter((v) => v !== null)));
  const ends = (f) => column((values) => values.length ? f(...values) : null);
  const y = view === "perplexity" ? own.value.map(exp) : view === "value" ? own.value : column(mean);
  const controls = byPosition || metric !== setting.metric || !["value", "perplexity"].includes(view) ? [] : [["crop", setting.crop, "1 3"], ["window", setting.protocol, "5 3"]].flatMap(([control, protocol, dash]) => {
    const of = setting.protocols[protocol][metric].methods[name]?.[control];
    return of ? [{ control, dash, y: view === "perplexity" ? of.value.map(exp) : of.value }] : [];
  });
  const interval = (t) => view === "value" && own.low[t] !== null ? [`95 % interval ${shown(own.low[t])} to ${shown(own.high[t])}`] : [];
  return { name, label: name, x: curves.lengths, y, low: ends(Math.min), high: ends(Math.max), seeds, ends: "seeds", controls, more: (t) => [...interval(t), ...controls.filter(({ y }) => y[t] !== null).map(({ control, y }) => `${control} ${shown(y[t])}`)], two: !byPosition && setting.bimodal.some((one) => one.method === name && one.extension === "none") };
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
  const state = { protocol: protocols[0], view: byPosition ? "value loss" : `value ${setting.metric}`, layout: setting.order.length > TOGETHER ? "families" : "together", hidden: new Set(), isolated: new Set() };
  const redraw = () => {
    const metrics = setting.protocols[state.protocol], views = [];
    for (const [metric, curves] of Object.entries(metrics)) {
      if (!Object.values(curves.methods).some((of) => of.none?.value.some((v) => v !== null))) continue;
      const text = plain(metric);
      views.push([`value ${metric}`, text]);
      if (metric !== "loss" && metric !== setting.metric) continue;
      if (!byPosition) views.push([`change ${metric}`, `${text}: change since the training length`]);
      if (setting.order.length > 1) views.push([`difference ${metric}`, `${text}: difference to ${setting.reference}`]);
      if (metric === "loss") views.push(["perplexity loss", "perplexity"]);
    }
    if (!views.some(([value]) => value === state.view)) state.view = views[0]?.[0] || "value loss";
    const [view, metric] = state.view.split(" "), curves = metrics[metric];
    const names = setting.order.filter((name) => curves.methods[name]), lines = names.map((name) => viewed(setting, metric, curves, name, view, byPosition)).filter((line) => line && !state.hidden.has(setting.methods[line.name].family));
    const unit = UNITS[metric] || plain(metric), zero = view === "change" ? "at the training length" : view === "difference" ? setting.reference : "";
    const controls = make("div", { class: "controls" }, choice("protocol", protocols.map((name) => [name, name]), state.protocol, (value) => { state.protocol = value; redraw(); }), choice("show", views, state.view, (value) => { state.view = value; redraw(); }), choice("as", [["families", "one panel a family"], ["together", "one panel"]], state.layout, (value) => { state.layout = value; redraw(); }));
    const chart = make("div", { class: "chart" }), keys = make("div", { class: "legend" });
    legend(keys, setting, names, state, redraw, (name) => chart.light?.(name));
    host.replaceChildren(controls, keys, chart);
    const where = byPosition ? "position in the context, tokens" : axis(setting, state.protocol);
    const title = view === "perplexity" ? "perplexity" : view === "change" ? `change of ${unit}` : view === "difference" ? `${plain(metric)} − that of ${setting.reference}` : unit;
    const choose = (one) => { toggle(state.isolated, one); redraw(); };
    draw(chart, arranged(setting, lines, state.layout === "families"), { trained: setting.trained_length, xTitle: where, yTitle: title, zero, side: setting.sign > 0 ? "below" : "above", long: long(setting), share: SHARES.includes(metric), level: view === "value" && metric === "accuracy" && setting.chance.value ? { x: setting.chance.lengths, y: setting.chance.value } : null, isolated: state.isolated, choose });
  };
  redraw();
  host.redraw = redraw;
}

function extensionsChart(host, setting) {
  const found = setting.extensions, many = Object.keys(found).filter((name) => Object.keys(found[name]).some((extension) => !["none", "window"].includes(extension))).sort((a, b) => Object.keys(found[b]).length - Object.keys(found[a]).length || (b === setting.reference) - (a === setting.reference));
  const state = { method: many[0] || "", hidden: new Set(), isolated: new Set() };
  const redraw = () => {
    const line = (name, label, of) => ({ name, label, x: of.lengths, y: of.value, low: of.low, high: of.high, seeds: [], ends: "95 % interval", more: () => [], two: false });
    const methods = setting.order.filter((name) => found[name]?.none).map((name) => line(name, name, found[name].none));
    const own = state.method ? Object.entries(found[state.method]).map(([name, of], n) => ({ ...line(name, name === "none" ? "no extension" : name, of), free: name === "none", colour: n % COLOURS, dash: n >= COLOURS })) : [];
    const chart = make("div", { class: "chart" });
    host.replaceChildren(make("div", { class: "controls" }, choice("show", [...many.map((name) => [name, `${name} under extensions`]), ...(many.length && methods.length ? [["", "every method without extension"]] : [])], state.method, (value) => { state.method = value; state.isolated.clear(); redraw(); })), chart);
    const panels = state.method ? [{ title: `${state.method} under extensions`, lines: own }] : arranged(setting, methods, setting.order.length > TOGETHER);
    const choose = (one) => { toggle(state.isolated, one); redraw(); };
    draw(chart, panels, { trained: setting.trained_length, xTitle: axis(setting, setting.protocol), yTitle: `difference in ${UNITS[setting.metric] || plain(setting.metric)}`, zero: setting.against === "crop" ? "crop" : "no extension", side: setting.sign > 0 ? "below" : "above", share: SHARES.includes(setting.metric), whole: setting.against !== "crop", long: long(setting), isolated: state.isolated, choose });
  };
  redraw();
  host.redraw = redraw;
}

// one method under every protocol, as the change since the training length
function protocolsChart(host, setting) {
  const names = Object.keys(setting.labels).filter((name) => setting.protocols[name]?.loss);
  const state = { method: setting.reference, isolated: new Set() };
  const redraw = () => {
    const lines = names.flatMap((protocol, n) => {
      const { lengths, methods } = setting.protocols[protocol].loss, of = methods[state.method]?.none, start = lengths.indexOf(setting.trained_length);
      if (!of || start < 0) return [];
      const seeds = of.seeds.map((seed) => seed.map((v) => minus(v, seed[start]))), y = of.value.map((v) => minus(v, of.value[start]));
      const ends = (f) => lengths.map((_, t) => { const some = known(seeds.map((seed) => seed[t])); return some.length ? f(...some) : null; });
      return [{ name: protocol, label: setting.labels[protocol] || protocol, colour: n % COLOURS, dash: n >= COLOURS, x: lengths, y, low: ends(Math.min), high: ends(Math.max), seeds, two: false, ends: "seeds", more: (t) => [`loss ${shown(of.value[t])}`] }];
    });
    const chart = make("div", { class: "chart" }), choose = (one) => { toggle(state.isolated, one); redraw(); };
    host.replaceChildren(make("div", { class: "controls" }, choice("method", setting.order.map((name) => [name, name]), state.method, (value) => { state.method = value; redraw(); })), chart);
    draw(chart, [{ title: state.method, lines }], { trained: setting.trained_length, xTitle: "evaluated length, tokens", yTitle: "change of loss, nats per token", zero: "at the training length", side: "below", isolated: state.isolated, choose });
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
  const own = { extensions: extensionsChart, protocols: protocolsChart }[host.dataset.chart];
  own ? own(host, setting) : methodsChart(host, setting, host.dataset.chart === "position");
}
document.querySelectorAll("table.sortable").forEach(sortable);
let waiting;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => charts.forEach((host) => host.redraw?.()), 150); });
