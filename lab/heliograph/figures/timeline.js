/* SPDX-License-Identifier: Apache-2.0 */
/* One session's segments over time: the sender above, the receiver below, what is under way between
 * them. Times are nanoseconds from the first segment; what came before it has negative ones. */

(function timeline() {
  const canvas = byId("lines");
  if (!canvas) return;
  const FIELDS = ["kind", "back", "sent", "came", "fate", "type", "offset", "length", "checkpoint serial", "report serial", "scope from",
    "scope to", "claims", "claimed bytes", "cancel reason", "attempt", "bytes in UDP", "why sent", "at the receiver of it", "lost by"];
  const KIND = 0, BACK = 1, SENT = 2, CAME = 3, FATE = 4;
  const FATES = ["arrived", "lost: in the drop log", "lost: sent here, never seen there", "arrival not known: the logs do not tell"];
  const LEFT = 118, RIGHT = 12, HIT = 9, SHORTEST = 1000;
  const TRACKS = { up: [34, 58], down: [64, 108], air: [112, 250], in: [254, 298], out: [304, 328], strip: [366, 404] };
  const MARKS = ["tick", "notched tick", "diamond", "diamond", "triangle", "circle", "square", "circle"];
  const pen = canvas.getContext("2d");
  let session, from, to, begin, end, chosen = -1, matrix = -1, colours, hovered = -1;

  const startOf = (s) => (s[SENT] ?? s[CAME]);
  const isLost = (s) => s[FATE] === 1 || s[FATE] === 2;
  const x = (t) => LEFT + ((t - from) / (to - from)) * (canvas.clientWidth - LEFT - RIGHT);
  const timeAt = (px) => from + ((px - LEFT) / (canvas.clientWidth - LEFT - RIGHT)) * (to - from);

  function duration(ns, digits) {
    const size = Math.abs(ns), [unit, by] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : ["µs", 1e3];
    return (digits === undefined ? String(+(ns / by).toPrecision(7)) : (ns / by).toFixed(digits)) + " " + unit;
  }

  function readColours() {
    const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
    colours = { kinds: page.kinds.map((_, i) => get("--k" + i)), lost: get("--lost"), ink: get("--ink"), quiet: get("--quiet"),
      line: get("--line"), band: get("--band"), paper: get("--paper"), accent: get("--accent") };
  }

  /* The mark of a kind at the head of its tick, so that kinds differ without colour, too. */
  function mark(kind, px, py) {
    const shape = MARKS[kind], r = 4;
    pen.beginPath();
    if (shape === "diamond") {
      pen.moveTo(px, py - r - 1); pen.lineTo(px + r, py); pen.lineTo(px, py + r + 1); pen.lineTo(px - r, py); pen.closePath();
    } else if (shape === "triangle") {
      pen.moveTo(px, py - r); pen.lineTo(px + r, py + r); pen.lineTo(px - r, py + r); pen.closePath();
    } else if (shape === "circle") {
      pen.arc(px, py, r - 0.5, 0, 7);
    } else if (shape === "square") {
      pen.rect(px - r + 0.5, py - r + 0.5, 2 * r - 1, 2 * r - 1);
    } else if (shape === "notched tick") {
      pen.rect(px - 2.5, py - 1, 5, 2);
    }
    pen.fill();
    if (kind === 3) {
      pen.fillStyle = colours.paper;
      pen.fillRect(px - 1, py - 1, 2, 2);
    }
  }

  function cross(px, py) {
    pen.strokeStyle = colours.lost;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(px - 4, py - 4); pen.lineTo(px + 4, py + 4); pen.moveTo(px + 4, py - 4); pen.lineTo(px - 4, py + 4);
    pen.stroke();
  }

  function tick(s, t, track, upwards) {
    const [top, bottom] = TRACKS[track], px = x(t), short = s[KIND] === 0 ? (bottom - top) * 0.45 : 3;
    const y0 = upwards ? top + short : top, y1 = upwards ? bottom : bottom - short;
    pen.fillStyle = isLost(s) ? colours.lost : colours.kinds[s[KIND]];
    pen.fillRect(px - 0.75, y0, 1.5, y1 - y0);
    if (s[KIND] > 0) mark(s[KIND], px, upwards ? y0 + 2 : y1 - 2);
  }

  /* Where a segment's line begins and ends: [x, y, x, y]. A lost one ends half way. */
  function way(s) {
    const [top, bottom] = TRACKS.air, back = s[BACK] === 1, y0 = back ? bottom : top, y1 = back ? top : bottom;
    if (s[SENT] === null) return [x(s[CAME]), y1 + (back ? 14 : -14), x(s[CAME]), y1];
    if (s[FATE] === 0) return [x(s[SENT]), y0, x(s[CAME]), y1];
    const flight = back ? session.back : session.forth, share = s[FATE] === 3 ? 0.12 : 0.5;
    return [x(s[SENT]), y0, x(s[SENT] + flight * share), y0 + (y1 - y0) * share];
  }

  function drawWay(s, dense) {
    const [x0, y0, x1, y1] = way(s);
    pen.strokeStyle = isLost(s) ? colours.lost : colours.kinds[s[KIND]];
    pen.globalAlpha = isLost(s) || s[KIND] > 1 ? 0.9 : dense;
    pen.lineWidth = s[KIND] > 1 ? 1.5 : 1;
    pen.setLineDash(isLost(s) ? [4, 3] : s[KIND] === 1 ? [7, 2] : []);
    pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    if (isLost(s)) cross(x1, y1);
  }

  function drawSegment(s, dense) {
    drawWay(s, dense);
    const back = s[BACK] === 1;
    if (s[SENT] !== null) tick(s, s[SENT], back ? "out" : "down", !back);
    if (s[CAME] !== null) tick(s, s[CAME], back ? "up" : "in", back);
  }

  function inView(s) {
    const last = s[CAME] ?? s[SENT] + session.forth;
    return Math.max(last, startOf(s)) >= from && Math.min(startOf(s), last) <= to;
  }

  /* Of those that would be drawn over one another, one. */
  function apart(segments) {
    let last = "";
    return segments.filter((s) => {
      const [x0, , x1] = way(s), key = [s[KIND], s[FATE], s[BACK], Math.round(2 * x0), Math.round(2 * x1)].join();
      const shown = key !== last;
      last = key;
      return shown;
    });
  }

  function axis() {
    const width = canvas.clientWidth - LEFT - RIGHT, rough = ((to - from) * 90) / width;
    let step = 10 ** Math.floor(Math.log10(rough));
    step *= rough / step > 5 ? 10 : rough / step > 2 ? 5 : rough / step > 1 ? 2 : 1;
    const unit = to >= 1e9 && step >= 1e7 ? 1e9 : step >= 1e4 || to >= 1e7 ? 1e6 : 1e3;
    const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9)), name = { 1e9: "s", 1e6: "ms", 1e3: "µs" }[unit];
    pen.fillStyle = colours.quiet;
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1;
    pen.textAlign = "center";
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      pen.beginPath(); pen.moveTo(x(t), 20); pen.lineTo(x(t), TRACKS.out[1]); pen.stroke();
      if (x(t) < canvas.clientWidth - 40) pen.fillText((t / unit).toFixed(digits), x(t), 13);
    }
    pen.textAlign = "right";
    pen.fillText(name, canvas.clientWidth - 4, 13);
  }

  function drawEvents() {
    for (const [t, side, text] of session.events) {
      if (t < from || t > to) continue;
      const y = side === 0 ? TRACKS.down[0] - 3 : TRACKS.in[1] + 3, timer = text.includes("timer");
      pen.fillStyle = timer ? colours.lost : colours.ink;
      pen.beginPath();
      pen.moveTo(x(t), y + (side === 0 ? 5 : -5)); pen.lineTo(x(t) - 4, y - (side === 0 ? 3 : -3)); pen.lineTo(x(t) + 4, y - (side === 0 ? 3 : -3));
      pen.fill();
    }
  }

  const MATRIX = 5;

  /* Where a matrix is drawn: between the sender's rows, or between the receiver's. */
  const matrixAt = (m) => [x(m[0]), m[1] === 0 ? (TRACKS.up[1] + TRACKS.down[0]) / 2 : (TRACKS.in[1] + TRACKS.out[0]) / 2];

  function drawMatrices() {
    for (const m of session.matrices) {
      if (m[0] < from || m[0] > to) continue;
      const [px, py] = matrixAt(m);
      pen.fillStyle = m[3] ? colours.lost : colours.accent;
      pen.fillRect(px - MATRIX / 2, py - MATRIX / 2, MATRIX, MATRIX);
    }
  }

  function matrixNear(px, py) {
    return session.matrices.findIndex((m) => { const [mx, my] = matrixAt(m); return Math.abs(mx - px) < MATRIX && Math.abs(my - py) < MATRIX; });
  }

  function labels() {
    const rows = [["sender receives", "up"], ["sender sends", "down"], ["under way", "air"], ["receiver receives", "in"], ["receiver sends", "out"],
      ["whole session", "strip"]];
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 20, LEFT - 6, canvas.clientHeight);
    pen.textAlign = "right";
    pen.fillStyle = colours.ink;
    for (const [text, track] of rows) pen.fillText(text, LEFT - 10, (TRACKS[track][0] + TRACKS[track][1]) / 2 + 4);
  }

  function bands() {
    pen.fillStyle = colours.band;
    for (const track of ["up", "down", "in", "out", "strip"])
      pen.fillRect(LEFT, TRACKS[track][0], canvas.clientWidth - LEFT - RIGHT, TRACKS[track][1] - TRACKS[track][0]);
  }

  const stripX = (t) => LEFT + (Math.min(1, Math.max(0, (t - begin) / (end - begin)))) * (canvas.clientWidth - LEFT - RIGHT);

  function strip() {
    const [top, bottom] = TRACKS.strip, middle = (top + bottom) / 2;
    for (const lost of [false, true]) {
      const drawn = new Set();
      for (const s of session.segments) {
        const key = s[KIND] + 10 * Math.round(2 * stripX(startOf(s)));
        if (isLost(s) !== lost || drawn.has(key)) continue;
        drawn.add(key);
        pen.fillStyle = lost ? colours.lost : colours.kinds[s[KIND]];
        const back = s[BACK] === 1, tall = lost || s[KIND] > 0 ? 15 : 7;
        pen.fillRect(stripX(startOf(s)) - 0.5, back ? middle + 1 : middle - tall, lost ? 1.6 : 1, tall);
      }
    }
    pen.fillStyle = colours.paper;
    pen.globalAlpha = 0.6;
    pen.fillRect(LEFT, top, stripX(from) - LEFT, bottom - top);
    pen.fillRect(stripX(to), top, stripX(end) - stripX(to), bottom - top);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    pen.strokeRect(stripX(from), top, Math.max(3, stripX(to) - stripX(from)), bottom - top);
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.font = "12px system-ui, sans-serif";
    bands();
    axis();
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 20, canvas.clientWidth - LEFT - RIGHT, TRACKS.strip[0] - 24);
    pen.clip();
    const visible = session.segments.filter(inView);
    const layers = [(s) => !isLost(s) && s[KIND] < 2, (s) => !isLost(s) && s[KIND] >= 2, isLost].map((test) => apart(visible.filter(test)));
    const dense = Math.max(0.12, Math.min(0.75, 60 / layers[0].length));
    for (const layer of layers) for (const s of layer) drawSegment(s, dense);
    drawEvents();
    drawMatrices();
    drawChosen();
    pen.restore();
    labels();
    strip();
    byId("range").textContent = duration(from) + " – " + duration(to) + ", " + visible.length + " segments";
    Object.assign(canvas.dataset, { from, to, visible: visible.length, chosen, matrices: session.matrices.length });
  }

  function drawChosen() {
    const s = session.segments[hovered >= 0 ? hovered : chosen];
    if (!s) return;
    const [x0, y0, x1, y1] = way(s);
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 3;
    pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke();
    pen.strokeRect(x0 - 4, y0 > 180 ? y0 + (s[BACK] ? 4 : -48) : y0 - (s[BACK] ? 78 : 48), 8, s[BACK] ? 74 : 44);
  }

  function look(a, b) {
    const margin = 0.01 * (end - begin), width = Math.min(Math.max(b - a, SHORTEST), end - begin + 2 * margin);
    from = Math.min(Math.max(a, begin - margin), end + margin - width);
    to = from + width;
    draw();
  }

  function lookAtAll() {
    look(-Infinity, Infinity);
  }

  function zoom(by, around) {
    const width = (to - from) * by, share = (around - from) / (to - from);
    look(around - width * share, around + width * (1 - share));
  }

  function describe(s) {
    const told = [page.kinds[s[KIND]] + (s[BACK] ? ", from the receiver" : ", from the sender") + " — " + FATES[s[FATE]]];
    if (s[SENT] !== null) told.push("sent at " + duration(s[SENT]));
    if (s[CAME] !== null)
      told.push("came at " + duration(s[CAME]) + (s[SENT] === null ? "" : ", after " + duration(s[CAME] - s[SENT])));
    for (let i = 6; i < FIELDS.length; i++) if (s[i] !== undefined && s[i] !== null) told.push(FIELDS[i] + ": " + s[i]);
    return told;
  }

  const describeMatrix = (m) => [duration(m[0]), ...m[2].split(", ")];

  function tell(index, px, py) {
    const s = session.segments[index], m = s ? undefined : session.matrices[matrixNear(px, py)];
    showBox(s ? describe(s) : m && describeMatrix(m), px, py);
  }

  function showBox(told, px, py) {
    const box = byId("told");
    box.hidden = !told;
    if (!told) return;
    box.textContent = told.join("\n");
    box.style.left = Math.max(0, Math.min(px + 14, canvas.clientWidth - box.offsetWidth - 4)) + "px";
    box.style.top = py + 16 + "px";
  }

  function distance(s, px, py) {
    const [x0, y0, x1, y1] = way(s), dx = x1 - x0, dy = y1 - y0, back = s[BACK] === 1;
    const share = Math.min(1, Math.max(0, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1)));
    let best = Math.hypot(px - x0 - share * dx, py - y0 - share * dy);
    const at = (t, [top, bottom]) => { if (t !== null && py >= top - 2 && py <= bottom + 2) best = Math.min(best, Math.abs(px - x(t))); };
    at(s[SENT], TRACKS[back ? "out" : "down"]);
    at(s[CAME], TRACKS[back ? "up" : "in"]);
    return best - (isLost(s) || s[KIND] > 1 ? 1.5 : 0);
  }

  function nearest(px, py) {
    let best = -1, least = HIT;
    session.segments.forEach((s, i) => {
      const d = inView(s) ? distance(s, px, py) : HIT;
      if (d < least) [best, least] = [i, d];
    });
    return best;
  }

  /* Goes to a segment of the session and tells of it. */
  function choose(index) {
    const s = session.segments[index];
    if (!s) return;
    chosen = index;
    hovered = -1;
    const t = startOf(s), width = to - from;
    if (t < from || t > to - width * 0.02) look(t - width / 2, t + width / 2);
    else draw();
    tell(index, x(t), s[BACK] ? 250 : 108);
    byId("spoken").textContent = describe(s).join("; ");
  }

  function nextMatrix() {
    const n = session.matrices.length, width = to - from;
    if (n === 0) return void (byId("spoken").textContent = "No matrix of an erasure code ended during this session.");
    matrix = (matrix + 1) % n;
    const m = session.matrices[matrix];
    chosen = hovered = -1;
    if (m[0] < from || m[0] > to - width * 0.02) look(m[0] - width / 2, m[0] + width / 2);
    else draw();
    showBox(describeMatrix(m), ...matrixAt(m));
    byId("spoken").textContent = describeMatrix(m).join("; ");
  }

  function nextLoss() {
    const n = session.segments.length;
    for (let i = 1; i <= n; i++) if (isLost(session.segments[(chosen + i + n) % n])) return choose((chosen + i + n) % n);
    byId("spoken").textContent = "No segment of this session was lost.";
  }

  function show(index) {
    session = page.timelines[index];
    byId("pick").value = String(index);
    const flight = (back) => session.segments.filter((s) => s[FATE] === 0 && s[BACK] === back && s[SENT] !== null).map((s) => s[CAME] - s[SENT]);
    const least = (list, other) => Math.max(1e3, list.reduce((a, b) => Math.min(a, b), list.length ? Infinity : other));
    begin = Math.min(0, ...session.events.map((e) => e[0]));
    end = Math.max(SHORTEST, ...session.events.map((e) => e[0]), session.segments.reduce((m, s) => Math.max(m, s[CAME] ?? 0, s[SENT] ?? 0), 0));
    session.forth = least(flight(0), end / 20);
    session.back = least(flight(1), end / 20);
    chosen = matrix = hovered = -1;
    byId("told").hidden = true;
    byId("spoken").textContent = "";
    byId("note").textContent = session.cut || session.unread
      ? "Not on this page: " + [session.cut && session.cut + " later segments", session.unread && session.unread + " rows of its log"]
        .filter(Boolean).join(", ") + "." : "";
    look(0 - 0.02 * end, 1.02 * end);
  }

  function title(t) {
    const row = page.rows.find((r) => String(r[0]) === t.originator && String(r[1]) === t.session) || [];
    const get = (name) => row[page.columns.indexOf(name)];
    const count = (n, word) => n > 0 && n + " " + word + (n > 1 ? "s" : "");
    const told = [t.originator + ":" + t.session, get("colour"), get("outcome"), get("duration_ms") != null && shown(get("duration_ms")) + " ms",
      count(get("cp_lost"), "lost checkpoint"), count(get("retx_cycles"), "cycle"), count(t.segments.filter(isLost).length, "lost segment")];
    return told.filter(Boolean).join(", ");
  }

  function legend() {
    const present = new Set(page.timelines.flatMap((t) => t.segments.map((s) => s[KIND])));
    const shapes = { tick: "M8 5h2v10h-2z", "notched tick": "M8 2h2v13h-2zM5 1h8v3h-8z", diamond: "M9 1l6 7-6 7-6-7z", triangle: "M9 2l6 12H3z",
      circle: "M9 3a5 5 0 1 0 .01 0z", square: "M4 3h10v10H4z" };
    const items = page.kinds.map((name, i) => present.has(i) && [name, `<path d="${shapes[MARKS[i]]}" fill="var(--k${i})"/>` +
      (i === 3 ? '<path d="M7.5 6.5h3v3h-3z" fill="var(--paper)"/>' : "")]);
    items.push(["lost", '<path d="M3 2l12 12M15 2L3 14" stroke="var(--lost)" stroke-width="3"/>'],
      ["opens or closes", '<path d="M4 4h10l-5 9z" fill="var(--ink)"/>'], ["timer runs out", '<path d="M4 4h10l-5 9z" fill="var(--lost)"/>']);
    if (page.timelines.some((t) => t.matrices.length))
      items.push(["matrix of the erasure code", '<path d="M5 4h8v8h-8z" fill="var(--accent)"/>'],
        ["matrix with missing segments", '<path d="M5 4h8v8h-8z" fill="var(--lost)"/>']);
    byId("legend").innerHTML = items.filter(Boolean).map(([name, drawn]) => `<li><svg viewBox="0 0 18 16" aria-hidden="true">${drawn}</svg>${name}</li>`).join("");
  }

  function pointer() {
    let drag = null;
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      drag = { x: e.offsetX, from, to, strip: e.offsetY >= TRACKS.strip[0] - 4, moved: false };
      if (drag.strip) jump(e.offsetX);
    });
    const jump = (px) => {
      const t = begin + ((px - LEFT) / (canvas.clientWidth - LEFT - RIGHT)) * (end - begin), half = (to - from) / 2;
      look(t - half, t + half);
    };
    canvas.addEventListener("pointermove", (e) => {
      if (drag && drag.strip) return jump(e.offsetX);
      if (drag) {
        const by = ((drag.x - e.offsetX) / (canvas.clientWidth - LEFT - RIGHT)) * (drag.to - drag.from);
        drag.moved = drag.moved || Math.abs(drag.x - e.offsetX) > 3;
        return look(drag.from + by, drag.to + by);
      }
      const now = nearest(e.offsetX, e.offsetY);
      if (now !== hovered) { hovered = now; draw(); }
      tell(hovered, e.offsetX, e.offsetY);
    });
    canvas.addEventListener("pointerup", (e) => {
      const clicked = drag && !drag.moved && !drag.strip ? nearest(e.offsetX, e.offsetY) : -1;
      drag = null;
      if (clicked >= 0) choose(clicked);
    });
    canvas.addEventListener("pointerleave", () => { if (hovered >= 0) { hovered = -1; byId("told").hidden = true; draw(); } });
    canvas.addEventListener("dblclick", (e) => zoom(0.25, timeAt(e.offsetX)));
    canvas.addEventListener("wheel", (e) => {
      if (e.deltaY > 0 && to - from >= end - begin && !e.shiftKey) return; /* all is in view: the page scrolls */
      e.preventDefault();
      const side = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
      if (Math.abs(side) > (e.shiftKey ? 0 : Math.abs(e.deltaY))) look(from + (side / 800) * (to - from), to + (side / 800) * (to - from));
      else zoom(Math.exp(Math.max(-120, Math.min(120, e.deltaY)) / 300), timeAt(e.offsetX));
    }, { passive: false });
  }

  function keys(e) {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const step = (to - from) / 8, middle = (from + to) / 2;
    const actions = { ArrowLeft: () => look(from - step, to - step), ArrowRight: () => look(from + step, to + step), "+": () => zoom(0.6, middle),
      "=": () => zoom(0.6, middle), "-": () => zoom(1 / 0.6, middle), 0: lookAtAll, Home: lookAtAll,
      n: () => choose(Math.min(chosen + 1, session.segments.length - 1)), p: () => choose(Math.max(chosen - 1, 0)), l: nextLoss, m: nextMatrix,
      Escape: () => { chosen = -1; byId("told").hidden = true; draw(); } };
    if (!actions[e.key]) return;
    e.preventDefault();
    actions[e.key]();
  }

  byId("pick").append(...page.timelines.map((t, i) => new Option(title(t), String(i))));
  byId("pick").addEventListener("change", (e) => show(Number(e.target.value)));
  document.addEventListener("show-session", (e) => show(e.detail));
  byId("closer").addEventListener("click", () => zoom(0.6, (from + to) / 2));
  byId("wider").addEventListener("click", () => zoom(1 / 0.6, (from + to) / 2));
  byId("all").addEventListener("click", lookAtAll);
  byId("loss").addEventListener("click", nextLoss);
  canvas.addEventListener("keydown", keys);
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
  pointer();
  readColours();
  legend();
  show(0);
})();
