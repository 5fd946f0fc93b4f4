/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sessions: sorted by its heads, filtered by words and comparisons. */
"use strict";

const page = JSON.parse(document.getElementById("data").textContent);

function byId(id) {
  return document.getElementById(id);
}

function shown(value) {
  if (value === null || value === "") return "";
  return typeof value === "number" && !Number.isInteger(value) ? String(+value.toPrecision(6)) : String(value);
}

(function sessionTable() {
  const STEP = 100;
  const TEXT = new Set(["colour", "outcome", "cp_lost_basis"]);
  const { columns, rows } = page;
  const head = document.querySelector("#rows thead tr"), body = document.querySelector("#rows tbody");
  const at = new Map(columns.map((name, i) => [name, i]));
  const timelines = new Map((page.timelines || []).map((t, i) => [t.originator + ":" + t.session, i]));
  let order = { column: at.get("duration_ms"), down: true };
  let found = rows, limit = STEP;

  function compare(a, b) {
    const x = a[order.column], y = b[order.column];
    if (x === y) return 0;
    if (x === null || x === "") return 1;
    if (y === null || y === "") return -1;
    return (x < y ? -1 : 1) * (order.down ? -1 : 1);
  }

  const TESTS = { ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b,
    "=": (a, b) => a === b, "!=": (a, b) => a !== b };

  /* One word of the filter as a test of a row; null when it names no column. */
  function condition(word) {
    const parts = /^(\w+)(>=|<=|!=|>|<|=)(.+)$/.exec(word);
    if (!parts)
      return (row) => row.some((v) => String(v).toLowerCase().includes(word)) || (row[0] + ":" + row[1]).includes(word);
    const column = at.get(parts[1]), test = TESTS[parts[2]];
    if (column === undefined) return null;
    const wanted = parts[3] !== "" && !isNaN(parts[3]) ? Number(parts[3]) : parts[3];
    return (row) => row[column] !== null && test(typeof wanted === "string" ? String(row[column]).toLowerCase() : row[column], wanted);
  }

  function cell(row, name, value) {
    const td = document.createElement("td");
    td.textContent = shown(value);
    if (TEXT.has(name)) td.className = "text";
    if (name === "session" && timelines.has(row[0] + ":" + row[1])) {
      const button = document.createElement("button");
      button.textContent = "▶ " + value;
      button.title = "show its segments";
      button.addEventListener("click", () => {
        document.dispatchEvent(new CustomEvent("show-session", { detail: timelines.get(row[0] + ":" + row[1]) }));
        byId("segments").scrollIntoView();
      });
      td.replaceChildren(button);
    }
    return td;
  }

  function draw() {
    body.replaceChildren(...found.slice(0, limit).map((row) => {
      const tr = document.createElement("tr");
      if (row[at.get("outcome")] !== "done") tr.className = "failed";
      tr.append(...row.map((value, i) => cell(row, columns[i], value)));
      return tr;
    }));
    byId("more").hidden = limit >= found.length;
    [...head.children].forEach((th, i) => {
      if (i === order.column) th.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
  }

  function search() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = words.map(condition);
    const wrong = words.filter((_, i) => tests[i] === null);
    found = rows.filter((row) => tests.every((test) => test === null || test(row))).sort(compare);
    byId("count").textContent = wrong.length ? "no column: " + wrong.join(" ") : found.length + " of " + rows.length;
    limit = STEP;
    draw();
  }

  head.append(...columns.map((name, i) => {
    const th = document.createElement("th"), button = document.createElement("button");
    th.scope = "col";
    button.textContent = name.replaceAll("_", " ");
    button.addEventListener("click", () => {
      order = { column: i, down: order.column === i ? !order.down : !TEXT.has(name) };
      search();
    });
    th.append(button);
    return th;
  }));
  byId("filter").addEventListener("input", search);
  byId("more").addEventListener("click", () => {
    limit += 10 * STEP;
    draw();
  });
  search();
})();
