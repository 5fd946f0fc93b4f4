/* SPDX-License-Identifier: Apache-2.0 */
/* What the pages of a lab and of a network of nodes (node/http/network_page.html) share: figures with their units, elements and tables. */
const $ = (id) => document.getElementById(id);
function scaled(v, units, step) {
  let i = 0;
  while (v >= step && i + 1 < units.length) { v /= step; i++; }
  return (i === 0 ? Math.round(v) : v.toFixed(v < 10 ? 2 : 1)) + " " + units[i];
}
const none = (v) => v === null || v === undefined;
const rate = (v) => none(v) ? "–" : scaled(v, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"], 1000);
const bytes = (v) => none(v) ? "–" : scaled(v, ["B", "kB", "MB", "GB", "TB"], 1000);
const nanos = (v) => none(v) ? "–" : scaled(v, ["ns", "µs", "ms", "s"], 1000);
const count = (v) => none(v) ? "–" : Math.round(v).toLocaleString("en");
function seconds(s) {
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 60) return Math.round(s) + " s";
  const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : `${m} min ${Math.floor(s % 60)} s`;
}
const SVG = ["svg", "path", "ellipse", "text", "title", "polygon", "g", "rect", "line"];
function element(name, attributes, ...inside) {
  const e = SVG.includes(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...inside.map((i) => i instanceof Node ? i : String(i)));
  return e;
}
const cell = (value, kind) => element("td", kind ? { class: kind } : {}, value);
const head = (...names) => element("tr", {}, ...names.map((n) => element("th", n.startsWith("<") ? { class: "t" } : {}, n.replace("<", ""))));
function fill(table, header, rows, nothing) {
  if (header) $(table).tHead.replaceChildren(header);
  $(table).tBodies[0].replaceChildren(...(rows.length ? rows : [element("tr", {}, element("td", { class: "t dim", colspan: 20 }, nothing))]));
}
