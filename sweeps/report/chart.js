"use strict";
// Line charts: panels with common axes, names beside the curves, hover and isolation. No library.

const tokens = (n) => n.toLocaleString("en");
const shown = (y) => Math.abs(y) >= 1e4 ? Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(y) : y.toFixed(Math.abs(y) >= 100 ? 1 : 3).replace("-", "−");
const known = (values) => values.filter((v) => v !== null && v !== undefined);
const SVG = new Set(["svg", "g", "path", "text", "circle", "line", "rect", "clipPath"]);

function make(tag, attributes = {}, ...children) {
  const node = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) key.startsWith("on") ? node.addEventListener(key.slice(2), value) : node.setAttribute(key, value);
  node.append(...children);
  return node;
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
  const raw = (high - low) / 8, power = 10 ** Math.floor(Math.log10(raw)), step = power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push([n * step, Math.abs(high) >= 1e4 ? shown(n * step) : (n * step).toFixed(digits).replace(/^-/, "−")]);
  return found;
}

// all curves; unless they are to be seen whole, a few that explode do not flatten the others
function limits(lines, zero, share, whole) {
  if (share && !zero) return [-0.03, 1.03];
  const values = lines.flatMap((line) => known([...line.y, ...line.low, ...line.high]));
  const highest = lines.map((line) => Math.max(...known([...line.y, ...line.high]))).filter(Number.isFinite).sort((a, b) => a - b);
  let low = Math.min(...values, ...lines.flatMap((line) => (line.controls || []).flatMap(({ y }) => known(y)))), high = Math.max(...values);
  const most = highest[Math.floor(0.9 * (highest.length - 1))];
  if (!share && !whole && high > low + 2 * (most - low) && most > low) high = low + 1.3 * (most - low);
  if (zero) { low = Math.min(low, 0); high = Math.max(high, 0); }
  const margin = 0.05 * (high - low) || 0.1;
  return [low - margin, high + margin];
}

// where everything goes: all panels have the same axes
function layout(width, panels, zero, share, whole) {
  const lines = panels.flatMap((panel) => panel.lines), alone = panels.length === 1;
  const columns = alone ? 1 : Math.max(1, Math.min(3, panels.length, Math.floor(width / 500)));
  const cell = width / columns, height = alone ? Math.min(740, Math.max(440, 15 * lines.length + 150)) : 280;
  const fitting = lines.filter((line) => !line.free), [low, high] = limits(fitting.length ? fitting : lines, zero, share, whole), lengths = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const longest = Math.max(...lines.map((line) => line.label.length + (line.y.at(-1) === null ? 15 : line.y.at(-1) > high ? 8 : 0)));
  const left = 58, top = panels.some((panel) => panel.title) ? 28 : 12, bottom = height - 44, end = cell - Math.min(cell * 0.44, 6.4 * longest + 22);
  const first = Math.log2(lengths[0]), octaves = Math.log2(lengths.at(-1)) - first || 1;
  const X = (n) => left + 10 + (end - left - 20) * (Math.log2(n) - first) / octaves, Y = (y) => bottom - (bottom - top) * (y - low) / (high - low);
  return { columns, cell, height, left, top, bottom, end, low, high, lengths, X, Y, inside: (y) => y !== null && y !== undefined && y <= high && y >= low };
}

// axes, rules, titles
function frame(g, at, first, { title, trained, xTitle, zero, side }) {
  const { left, top, bottom, end, X, Y, lengths } = at;
  for (const [y, text] of ticks(at.low, at.high)) g.append(make("line", { class: "grid", x1: left, x2: end, y1: Y(y), y2: Y(y) }), make("text", { x: left - 7, y: Y(y) + 4, "text-anchor": "end" }, text));
  let free = Infinity;
  for (const n of lengths.filter((n) => (n & (n - 1)) === 0 || lengths.length < 8).reverse()) {
    const half = 3.4 * tokens(n).length + 4;
    if (X(n) + half > free) continue;
    g.append(make("text", { x: X(n), y: bottom + 17, "text-anchor": "middle" }, tokens(n)));
    free = X(n) - half;
  }
  g.append(make("path", { class: "axis", d: `M${left} ${top}V${bottom}H${end}` }), make("text", { x: (left + end) / 2, y: bottom + 36, "text-anchor": "middle" }, xTitle));
  if (title) g.append(make("text", { class: "title", x: left, y: top - 11 }, title));
  if (trained >= lengths[0] && trained <= lengths.at(-1)) {
    g.append(make("line", { class: "trained", x1: X(trained), x2: X(trained), y1: top, y2: bottom }));
    if (first) g.append(make("text", { x: X(trained) + 5, y: top + 10 }, `trained at ${tokens(trained)}`));
  }
  if (zero) g.append(make("line", { class: "zero", x1: left, x2: end, y1: Y(0), y2: Y(0) }));
  if (zero && first) g.append(make("text", { x: left + 6, y: bottom - 7 }, `${side} zero: better than ${zero}`));
}

function path(line, { X, Y }) {
  return line.y.map((y, t) => y === null ? "" : `${line.y[t - 1] === null || t === 0 ? "M" : "L"}${X(line.x[t])} ${Y(y)}`).join("") || "M0 0";
}

function band(line, { X, Y }) {
  const ends = line.x.map((x, t) => [X(x), line.low[t], line.high[t]]).filter(([, low, high]) => low !== null && high !== null);
  return ends.length < 2 ? "M0 0" : `M${ends.map(([x, low]) => `${x} ${Y(low)}`).join("L")}L${ends.reverse().map(([x, , high]) => `${x} ${Y(high)}`).join("L")}Z`;
}

// a curve with its band, points and marks; returns what its name says, and where
function curve(node, line, at, clip) {
  const { X, Y, inside, high, low, top } = at, clipped = { "clip-path": `url(#${clip})` };
  if (!line.two) node.append(make("path", { class: "band", d: band(line, at), ...clipped }));
  for (const { dash, y } of line.controls || []) node.append(make("path", { class: "control", d: path({ ...line, y }, at), "stroke-dasharray": dash, ...clipped }));
  node.append(make("path", { class: line.two ? "mean two" : "mean", d: path(line, at), "stroke-dasharray": line.two ? "2 3" : line.dash ? "7 3" : "none", ...clipped }));
  const dots = line.two ? line.seeds.map((seed) => [seed, "seed", 3.6]) : line.x.length < 10 ? [[line.y, "mean", 2.6]] : [];
  for (const [values, kind, r] of dots) values.forEach((y, t) => inside(y) && node.append(make("circle", { class: kind, cx: X(line.x[t]), cy: Y(y), r })));
  const t = line.y.findLastIndex((y) => y !== null), y = line.y[t], last = t === line.x.length - 1;
  if (t < 0) return { text: `${line.label}: no value`, y: high };
  if (!last && inside(y)) node.append(make("text", { x: X(line.x[t]), y: Y(y) + 7, "text-anchor": "middle", "font-size": 20 }, "×"));
  if (y > high) {
    const before = line.y.findLastIndex(inside), share = before < 0 ? 0 : (high - line.y[before]) / (line.y[before + 1] - line.y[before]);
    const x = before < 0 ? X(line.x[0]) : X(line.x[before]) + share * (X(line.x[before + 1]) - X(line.x[before]));
    node.append(make("text", { x, y: top + 6, "text-anchor": "middle" }, "▲"));
  }
  if (!last) return { text: `× ${line.label}: none past ${tokens(line.x[t])}`, y };
  return y > high ? { text: `▲ ${line.label} ${shown(y)}`, y } : { text: line.label, y, lead: true };
}

// names to the right, moved apart where they would overlap
function name(labels, { X, Y, low, high, top, bottom, end, lengths }) {
  labels.sort((a, b) => b.y - a.y);
  const height = (y) => Y(Math.min(Math.max(y, low), high)), gap = Math.min(14, (bottom - top + 10) / Math.max(labels.length - 1, 1));
  spaced(labels.map((label) => height(label.y)), gap, top, bottom + 6).forEach((place, n) => {
    const { node, text, y, lead } = labels[n];
    if (lead) node.append(make("path", { class: "lead", d: `M${X(lengths.at(-1)) + 4} ${height(y)}L${end + 10} ${place}` }));
    node.append(make("text", { x: end + 13, y: place + 4, "font-size": Math.min(12, gap) }, text));
  });
}

// the nearest point is named in a box, its curve stands out
function hover(svg, tip, points, width, light, long) {
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), scale = width / box.width, x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    const far = (point) => Math.hypot(point.x - x, 1.6 * (point.y - y)), near = points.reduce((a, b) => far(b) < far(a) ? b : a), hit = far(near) < 34;
    light(hit ? near.line.name : event.target.closest(".line")?.dataset.name);
    tip.hidden = !hit;
    if (!hit) return;
    const { line, t } = near, told = line.low[t] !== null && line.low[t] !== line.high[t] ? [`${line.ends} ${shown(line.low[t])} to ${shown(line.high[t])}`] : [];
    tip.replaceChildren(make("b", {}, line.label), ` ${shown(line.y[t])}`, ...[`at ${long(line.x[t])}`, ...told, ...line.more(t)].flatMap((text) => [make("br"), text]));
    tip.style.left = `${Math.max(0, Math.min(near.x / scale + 14, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${near.y / scale + 14}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; light(); });
}

// panels: [{title, lines: [{name, label, colour, dash, x, y, low, high, seeds, two, ends, more}]}]; isolated: a set of names
let drawn = 0;
function draw(host, panels, { trained, xTitle, yTitle, zero, side, share, whole, level, long = (n) => `${tokens(n)} tokens`, isolated, choose }) {
  const every = panels.flatMap((panel) => panel.lines), width = Math.max(host.clientWidth, 420);
  if (!every.some((line) => known(line.y).length)) { host.replaceChildren(make("p", { class: "note" }, "Nothing to show.")); return; }
  const at = layout(width, panels, zero, share, whole), total = at.height * Math.ceil(panels.length / at.columns), clip = `clip${drawn++}`, points = [];
  const svg = make("svg", { viewBox: `0 0 ${width} ${total}`, role: "img", "aria-label": `${yTitle} against ${xTitle}` });
  svg.append(make("clipPath", { id: clip }, make("rect", { x: at.left, y: at.top, width: at.end - at.left, height: at.bottom - at.top })));
  svg.append(make("text", { x: -total / 2, y: 12, transform: "rotate(-90)", "text-anchor": "middle" }, yTitle));
  panels.forEach((panel, number) => {
    const dx = at.cell * (number % at.columns), dy = at.height * Math.floor(number / at.columns), g = make("g", { transform: `translate(${dx} ${dy})` });
    frame(g, at, number === 0, { title: panel.title, trained, xTitle, zero, side });
    if (level) g.append(make("path", { class: "trained", fill: "none", d: path(level, at) }));
    if (level && number === 0) g.append(make("text", { x: at.X(level.x[0]) + 5, y: at.Y(level.y[0]) - 4 }, "chance"));
    for (const line of panels.length > 1 ? every : []) if (!panel.lines.includes(line)) g.append(make("path", { class: "ghost", d: path(line, at), "clip-path": `url(#${clip})` }));
    name(panel.lines.map((line) => {
      const node = make("g", { class: "line", "data-name": line.name, style: `color: var(--c${line.colour})`, onclick: () => choose(line.name) });
      g.append(node);
      line.y.forEach((y, t) => at.inside(y) && points.push({ x: dx + at.X(line.x[t]), y: dy + at.Y(y), line, t }));
      return { node, ...curve(node, line, at, clip) };
    }), at);
    svg.append(g);
  });
  host.light = (one) => {
    const lit = one ? new Set([one]) : isolated;
    svg.classList.toggle("lit", lit.size > 0);
    svg.querySelectorAll(".line").forEach((node) => node.classList.toggle("on", lit.has(node.dataset.name)));
  };
  const tip = make("div", { class: "tip", hidden: "" });
  hover(svg, tip, points, width, host.light, long);
  host.replaceChildren(svg, tip);
  host.light();
}
