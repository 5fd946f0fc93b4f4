/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* Draws what /state.json says, by page_parts.js. All text goes into the page as text, never as markup. */
const EVERY = 1000, HIDDEN = 5000, MINUTE = 60, SPREAD = 1.5, RX = 80, RY = 38;
const past = new Map(); /* "LINK WAY" -> the last minute's {goodput, fade} */
let state = null, received = 0, chosen = null, timer = 0, role = null, bundle = "";

/* ---- the access token: from the address behind #, which is sent to nobody, or as it is typed ---- */

if (location.hash.length > 1) {
  sessionStorage.setItem("token", decodeURIComponent(location.hash.slice(1)));
  history.replaceState(null, "", location.pathname);
}
function ask(path) {
  const token = sessionStorage.getItem("token");
  return fetch(path, { headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store" });
}
function useToken(event) {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value.trim());
  role = null;
  look();
}

const share = (v) => v > 0 && v < 0.01 ? "< 1 %" : Math.round(100 * v) + " %";

/* ---- one direction of a link ---- */

/* Of what kind is it now, and in which words? */
function kindOf(way) {
  const link = way.sender, channel = way.channel;
  if (state.phase === "ended") return ["off", link ? link.state : "–"];
  if (!link) return ["down", "no answer"];
  if (["down", "refused"].includes(link.state)) return ["down", link.state];
  if (channel && channel.state === "down") return ["down", "channel down"];
  if (link.state === "waiting" || channel && channel.state === "off") return ["off", link.state === "waiting" ? "waits for contact" : "off contact"];
  const fade = channel && channel.bad_share, random = channel && channel.iid;
  if (fade > 0) return [fade >= 0.5 ? "bad" : "fade", `fades ${share(fade)}`];
  if (random > 0) return [random >= 0.5 ? "bad" : "fade", `loses ${share(random)}`];
  const lost = lostShare(way);
  if (lost > 0) return [lost >= 0.5 ? "bad" : "fade", link.state];
  return [channel && channel.state === "good" ? "good" : "plain", link.state];
}
/* Of the frames that came in the last second; null: none came, or that is not known. */
function lostShare(way) {
  const s = way.channel && way.channel.second;
  return s && s.in > 0 ? Math.min(1, s.lost / s.in) : null;
}
const arriving = (way) => none(way.goodput_bps) ? way.receiver ? way.receiver.rx_bps : null : way.goodput_bps;
function remember() {
  if (state.phase === "ended") return;
  for (const link of state.links) {
    for (const way of link.ways) {
      const key = link.name + " " + way.way, list = past.get(key) || [];
      list.push({ goodput: arriving(way) || 0, fade: kindOf(way)[0] === "off" ? 0 : way.channel && way.channel.bad_share || 0 });
      past.set(key, list.slice(-MINUTE));
    }
  }
}
function spark(link, way) {
  const list = past.get(link.name + " " + way.way) || [], w = 100, h = 22, step = w / (MINUTE - 1);
  const top = Math.max(1, way.sender && way.sender.rate_bps || 0, ...list.map((p) => p.goodput));
  const x = (i) => (w - (list.length - 1 - i) * step).toFixed(1);
  const svg = element("svg", { width: w, height: h, role: "img", "aria-label": `${way.from} to ${way.to}, the last minute` });
  list.forEach((p, i) => p.fade > 0 && svg.append(element("rect", { class: "fades", x: x(i) - step, width: step, y: (h * (1 - p.fade)).toFixed(1), height: (h * p.fade).toFixed(1) })));
  svg.append(element("path", { class: "spark", d: list.map((p, i) => `${i ? "L" : "M"}${x(i)} ${(h - 1 - p.goodput / top * (h - 2)).toFixed(1)}`).join("") }));
  return svg;
}

/* ---- the map ---- */

/* The curve of a direction: beside the middle of the link, from edge to edge of the nodes. */
function lane(link, way, at) {
  const [a, b] = link.ends.map((n) => at[n]), forward = way.way === "forward" ? 1 : -1;
  const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1, ux = dx / length, uy = dy / length;
  const nx = -uy, ny = ux, side = -forward * 7;
  const cx = (a.x + b.x) / 2 + nx * 2 * link.bend * SPREAD, cy = (a.y + b.y) / 2 + ny * 2 * link.bend * SPREAD;
  const edge = (p) => {
    const tx = cx - p.x, ty = cy - p.y, r = 1 / Math.hypot(tx / (RX + 6), ty / (RY + 6));
    return { x: p.x + tx * r + nx * side, y: p.y + ty * r + ny * side };
  };
  const ends = [edge(a), edge(b)], [from, to] = forward > 0 ? ends : ends.reverse();
  const c = { x: cx + nx * side, y: cy + ny * side }, t = a.y === b.y ? 0.5 : 0.4; /* nearer to its sender: middles may be one place */
  const on = (k) => (1 - t) * (1 - t) * from[k] + 2 * t * (1 - t) * c[k] + t * t * to[k];
  return { from, to, c, middle: { x: on("x"), y: on("y") }, out: { x: nx * Math.sign(side), y: ny * Math.sign(side) } };
}
function tip(l, kind, width) {
  const dx = l.to.x - l.c.x, dy = l.to.y - l.c.y, d = Math.hypot(dx, dy) || 1, ux = dx / d, uy = dy / d, size = 7 + width;
  const x = l.to.x + ux * 4, y = l.to.y + uy * 4, p = (k, s) => `${(x - ux * k - uy * s).toFixed(1)},${(y - uy * k + ux * s).toFixed(1)}`;
  return element("polygon", { class: "tip " + kind, points: `${p(0, 0)} ${p(size, size / 2)} ${p(size, -size / 2)}` });
}
/* What stands beside a direction, in lines. */
function words(way) {
  const [kind, text] = kindOf(way), lost = lostShare(way), s = way.sender, c = way.channel;
  if (state.phase === "ended") return [s ? `${count(s.sent)} sent` : text, ...(c && c.lost_all > 0 ? [`${count(c.lost_all)} frames lost`] : [])];
  if (kind === "down") return [text];
  const more = ["off", "bad", "fade"].includes(kind) && text !== s.state ? [text] : [];
  if (lost > 0) more.push(`lost ${share(lost)}`);
  return [rate(arriving(way)), more.join(", "), s.bundles > 0 ? `${count(s.bundles)} queued` : ""].filter(Boolean);
}
function label(l, way, kind) {
  const anchor = Math.abs(l.out.x) < 0.4 ? "middle" : l.out.x > 0 ? "start" : "end", lines = words(way);
  const x = l.middle.x + l.out.x * 10, y = l.middle.y + l.out.y * (l.out.y > 0 ? 18 : 10) - (l.out.y < -0.4 ? 15 * (lines.length - 1) : Math.abs(l.out.y) <= 0.4 ? 7 * (lines.length - 1) - 4 : 0);
  return lines.map((line, i) => element("text", { x: x.toFixed(1), y: (y + 15 * i).toFixed(1), "text-anchor": anchor,
    class: "small" + (i === 1 && ["bad", "fade"].includes(kind) ? " " + kind : i ? " dim" : "") }, line));
}
function drawLink(link, at) {
  const g = element("g", { "data-link": link.name }), texts = element("g", {});
  for (const way of link.ways) {
    const l = lane(link, way, at), [kind, text] = kindOf(way), s = way.sender;
    const width = 2 + (s && s.rate_bps && s.tx_bps ? 4 * Math.min(1, s.tx_bps / s.rate_bps) : 0);
    const d = `M${l.from.x.toFixed(1)} ${l.from.y.toFixed(1)}Q${l.c.x.toFixed(1)} ${l.c.y.toFixed(1)} ${l.to.x.toFixed(1)} ${l.to.y.toFixed(1)}`;
    g.append(element("path", { class: "lane " + kind, d, "stroke-width": width.toFixed(1) }), tip(l, kind, width),
      element("path", { class: "over", d }, element("title", {}, `${link.name}, ${way.from} → ${way.to}: ${text}\n${link.adapter}, ${way.words || "no limits"}`)));
    texts.append(...label(l, way, kind));
  }
  g.addEventListener("click", () => choose(link.name));
  return [g, texts];
}
function drawNode(n) {
  const lines = [[n.name, "name"], [n.node, "inside dim small"]];
  if (n.state === "no answer") lines.push(["no answer", "inside bad small"]);
  else if (n.kind !== "heliod") lines.push([`${n.kind}: ${n.state}`, "inside small"]);
  else lines.push([`${count(n.bundles)} held, ${count(n.delivered)} delivered`, "inside small"]);
  return element("g", { "data-node": n.name },
    element("ellipse", { class: "node" + (n.state === "up" || n.state === "ended" ? "" : " gone"), cx: n.x, cy: n.y, rx: RX, ry: RY }, element("title", {}, n.error || n.said || n.state)),
    ...lines.map(([text, kind], i) => element("text", { class: kind, x: n.x, y: n.y - 10 + 15 * i, "text-anchor": "middle" }, text)));
}
function drawMap() {
  const at = {}, flat = new Set(state.nodes.map((n) => n.y)).size === 1;
  for (const n of state.nodes) at[n.name] = { ...n, x: n.x * SPREAD, y: n.y * SPREAD };
  const xs = Object.values(at).map((n) => n.x), ys = Object.values(at).map((n) => n.y), beside = RX + (flat ? 30 : 130), above = RY + (flat ? 40 : 25);
  const x = Math.min(...xs) - beside, y = Math.min(...ys) - above, w = Math.max(...xs) - x + beside, h = Math.max(...ys) - y + above;
  const svg = element("svg", { viewBox: [x, y, w, h].map((v) => v.toFixed(0)).join(" "), width: w.toFixed(0), role: "img", "aria-label": "map of the lab" });
  const drawn = state.links.map((link) => drawLink(link, at));
  svg.append(...drawn.map(([lanes]) => lanes), ...drawn.map(([, texts]) => texts), ...Object.values(at).map(drawNode));
  $("map").replaceChildren(svg);
  $("legend").textContent = (state.phase === "ended" ? "" : "Green: the channel is good. Amber, red: it fades, or frames were lost, in the last second. Blue: no emulated channel, or no frame yet. Grey: off contact. " +
    "Width: share of the rate in use. ") + state.notes.join("; ");
}

/* ---- the tables ---- */

function tile(name, value, about) {
  return element("div", { class: "tile" }, element("span", { class: "dim" }, name), element("b", {}, value), ...(about ? [element("span", { class: "dim" }, about)] : []));
}
const sum = (list, key) => list.reduce((all, one) => all + (one[key] || 0), 0);
function drawHead() {
  const s = state.seconds;
  $("title").textContent = state.title;
  document.title = `${state.title} · helio-lab`;
  $("about").textContent = `mode ${state.mode}, ` + (state.phase === "begins" ? `begins in ${seconds(-s)}` : state.phase === "ended" ? `ended after ${seconds(s)}` : `up for ${seconds(s)}`) + `, logs in ${state.out}`;
  const ways = state.links.flatMap((l) => l.ways), fading = ways.filter((w) => ["fade", "bad"].includes(kindOf(w)[0])).length, off = ways.filter((w) => kindOf(w)[0] === "off").length;
  const down = ways.filter((w) => kindOf(w)[0] === "down").length, up = state.nodes.filter((n) => n.state === "up").length;
  $("tiles").replaceChildren(
    state.phase === "ended" ? tile("Nodes", state.nodes.length, "all have ended") : tile("Nodes", `${up} of ${state.nodes.length} up`),
    tile("Directions of links", ways.length, state.phase === "ended" ? "" : [fading && `${fading} with losses or fades`, off && `${off} off contact`, down && `${down} down`].filter(Boolean).join(", ") || "all good"),
    tile("Bundles held", count(sum(state.nodes, "bundles")), bytes(sum(state.nodes, "bytes"))),
    tile("Delivered", count(sum(state.nodes, "delivered")), `${count(sum(state.nodes, "expired"))} expired`),
    tile("Lost on channels", count(ways.reduce((all, w) => all + (w.channel && w.channel.lost_all || 0), 0)), "frames, of " + count(ways.reduce((all, w) => all + (w.channel && w.channel.in || 0), 0))));
}
function lostText(way) {
  const c = way.channel;
  return c && c.second ? `${count(c.second.lost)} of ${count(c.second.in)}` : "–";
}
function wayRow(link, way) {
  const [kind, text] = kindOf(way), s = way.sender || {}, c = way.channel || {};
  const lost = cell(none(c.lost_all) ? "–" : count(c.lost_all), c.lost_all ? "bad" : "");
  if (c.lost) lost.title = Object.entries(c.lost).map(([reason, n]) => `${reason}: ${n}`).join(", ") || "none";
  const what = cell(`${way.from} → ${way.to}`, "t");
  what.title = `${link.adapter}, ${way.words || "no limits"}`;
  const tr = element("tr", { "data-link": link.name, "data-way": way.way, ...(link.name === chosen ? { class: "sel" } : {}) }, what,
    cell(c.name && c.name !== link.name ? `${text}, by ${c.name}` : text, "t " + (kind === "off" || kind === "plain" || text === "unheard" ? "dim" : kind === "down" ? "bad" : kind)), element("td", {}, spark(link, way)),
    cell(rate(way.goodput_bps)), cell(rate(way.receiver ? way.receiver.rx_bps : null)), cell(rate(s.tx_bps)), cell(s.rate_bps ? rate(s.rate_bps) : "–"), cell(rate(s.resent_bps)),
    cell(lostText(way), lostShare(way) > 0 ? "fade" : ""), lost, cell(count(s.sessions)), cell(count(s.bundles)), cell(none(s.oldest_ms) ? "–" : seconds(s.oldest_ms / 1000)),
    cell(nanos(s.rtt_ns)), cell(count(s.sent)), cell(count(s.failed), s.failed ? "bad" : ""));
  tr.addEventListener("click", () => choose(link.name));
  return tr;
}
function drawTables() {
  fill("links", head("<Direction", "<State", "Last minute", "Goodput", "Arrives", "Sent out", "Rate", "Resent", "Lost now", "Lost", "Sessions", "Queued", "Oldest", "Trip", "Sent", "Failed"),
    state.links.flatMap((link) => link.ways.map((way) => wayRow(link, way))), "no links");
  fill("nodes", head("<Node", "<Endpoint", "<State", "Held", "Bytes", "Delivered", "Forwarded", "Expired", "Applications", "Up for"),
    state.nodes.map((n) => element("tr", {}, cell(n.name, "t"), cell(n.node, "t dim"), cell(n.kind === "heliod" ? n.state : `${n.kind}: ${n.state}${n.said ? ", " + n.said : ""}`, "t" + (n.state === "up" || n.state === "ended" ? "" : " bad")),
      cell(count(n.bundles)), cell(bytes(n.bytes)), cell(count(n.delivered)), cell(count(n.forwarded)), cell(count(n.expired)), cell(count(n.applications)), cell(none(n.uptime_s) ? "–" : seconds(n.uptime_s)))), "no nodes");
  drawNetworks();
  const traffic = Object.entries(state.traffic);
  fill("traffic", null, traffic.map(([name, text]) => element("tr", {}, cell(name, "t thin"), cell(text, "t"))), "none in the lab file");
  fill("events", null, [...state.events].reverse().map((e) => element("tr", {}, cell(`${e.at.toFixed(1)} s`, "thin"), cell(e.text, "t wrap" + (e.seen ? " dim" : "")))), "none so far");
}
/* Networks between ground stations and mission centres: streams, in which nothing is lost. */
function drawNetworks() {
  const rows = state.links.filter((link) => link.network).flatMap((link) => link.ways.map((way) => {
    const n = link.network[way.way], centre = link.station === "forward" ? link.ends[1] : link.ends[0];
    const what = cell(way.way === "forward" ? `station → ${centre}` : `${centre} → station`, "t");
    return element("tr", { "data-network": link.name, "data-way": way.way }, cell(link.name, "t"), what, cell(n.stalled ? "stalled" : none(link.network.connections) ? "–" : `${link.network.connections} connections`, "t" + (n.stalled ? " bad" : "")),
      cell(rate(n.bps)), cell(none(n.rate_bps) ? "–" : n.rate_bps === 0 ? "unlimited" : rate(n.rate_bps)), cell(none(n.delay_us) ? "–" : nanos(1000 * n.delay_us)), cell(bytes(n.queued_bytes)), cell(bytes(n.out_bytes)), cell(n.words, "t dim"));
  }));
  $("networks_of").hidden = rows.length === 0;
  fill("networks", head("<Link", "<Network", "<State", "Carries", "Rate", "Delay", "Under way", "In all", "<Lab file"), rows, "");
}
/* Contacts to come, a line for each direction; the left end is now. */
function drawTimeline(list, now) {
  const w = Math.max(280, Math.min(1200, $("timeline").clientWidth)), left = 110, names = [...new Set(list.map((c) => `${c.from} → ${c.to}`))].slice(0, 20);
  const begin = Math.max(0, ...list.map((c) => c.start_ms - now)), last = Math.max(6e4, begin * 1.2, ...list.map((c) => none(c.end_ms) ? 0 : Math.min(c.end_ms - now, begin > 0 ? 2 * begin : Infinity)));
  const x = (t) => left + Math.max(0, Math.min(1, (t - now) / last)) * (w - left - 4), h = 22 * names.length;
  const svg = element("svg", { width: w, height: h + 20, role: "img", "aria-label": "contacts to come" });
  for (let k = 0, parts = w < 600 ? 2 : 4; k <= parts; k++) {
    const t = now + last * k / parts;
    svg.append(element("line", { class: "grid", x1: x(t), x2: x(t), y1: 0, y2: h }),
      element("text", { class: "small dim", x: x(t), y: h + 15, "text-anchor": k ? "end" : "start" }, k ? "in " + seconds((t - now) / 1000) : "now"));
  }
  names.forEach((name, i) => svg.append(element("text", { class: "small", x: 0, y: 22 * i + 15 }, name.length > 16 ? name.slice(0, 15) + "…" : name, element("title", {}, name))));
  for (const c of list) {
    const i = names.indexOf(`${c.from} → ${c.to}`), from = x(c.start_ms), to = none(c.end_ms) ? w - 4 : x(c.end_ms);
    if (i >= 0) svg.append(element("rect", { class: "contact" + (c.start_ms <= now ? " on" : ""), x: from, y: 22 * i + 4, width: Math.max(2, to - from), height: 13 }));
  }
  $("timeline").replaceChildren(...(names.length ? [svg] : []));
}
function drawContacts() {
  const now = state.unix_ms + (state.phase === "ended" ? 0 : performance.now() - received);
  const list = state.contacts.filter((c) => none(c.end_ms) || c.end_ms > now);
  drawTimeline(list, now);
  const rows = list.map((c) => {
    const on = c.start_ms <= now, end = none(c.end_ms) ? null : seconds((c.end_ms - now) / 1000);
    return element("tr", {}, cell(`${c.from} → ${c.to}`, "t"), cell(on ? end === null ? "now" : `now, ends in ${end}` : `in ${seconds((c.start_ms - now) / 1000)}`, "t" + (on ? " good" : "")),
      cell(none(c.end_ms) ? "no end" : seconds((c.end_ms - c.start_ms) / 1000)), cell(c.rate_bps ? rate(c.rate_bps) : "–"), cell(nanos(c.owlt_ns)));
  });
  fill("contacts", head("<From → to", "<When", "Length", "Rate", "Light time"), rows, "no plan, or nothing to come");
  $("contacts_total").textContent = state.contacts_total > state.contacts.length ? `the first ${state.contacts.length} of ${state.contacts_total}` : "";
}

/* ---- bundles: where they wait and why, and the path of one ---- */

function drawWaits() {
  fill("waits", head("<At", "<For", "Bundles", "Bytes", "Oldest", "<Where its oldest is", "<Why", "<Next"), (state.waits || []).map((w) => {
    const tr = element("tr", { "data-node": w.node, ...(w.id && w.id === bundle ? { class: "sel" } : {}) }, cell(w.node, "t"), cell(w.destination, "t"), cell(count(w.bundles)), cell(bytes(w.bytes)),
      cell(seconds(w.oldest_ms / 1000)), cell(w.where || "–", "t wrap"), cell(w.why || "–", "t wrap"), cell(w.next || "–", "t wrap dim"));
    if (w.id) tr.addEventListener("click", () => { $("bundle").value = w.id; follow(); });
    return tr;
  }), "nothing waits");
}
async function drawWay() {
  const wanted = bundle;
  $("way").hidden = wanted === "" || state.phase === "ended";
  if ($("way").hidden) return;
  const answer = await ask("way.json?bundle=" + encodeURIComponent(wanted));
  if (!answer.ok || wanted !== bundle) return;
  fill("way", head("<Node", "<Where", "<Why", "<Tried", "<Next"), (await answer.json()).map((one) => element("tr", { "data-node": one.node },
    ...[one.node, one.where || "–"].map((text) => cell(text, "t" + (one.known === false || !one.where ? " dim" : ""))), ...[one.why, one.tried, one.next].map((text) => cell(text || "–", "t wrap dim")))), "no nodes");
}
function follow() {
  bundle = $("bundle").value.trim();
  drawWaits();
  drawWay().catch(() => {});
}

/* ---- changes, for those who may ---- */

async function askRole() {
  const answer = await ask("role.json");
  role = answer.ok ? await answer.json() : null;
}
function drawChange() {
  $("change").hidden = !(role && role.change) || chosen === null || state.phase === "ended";
  $("changed_link").textContent = chosen || "";
}
async function change(what) {
  $("change_said").className = "";
  $("change_said").textContent = "…";
  const answer = await fetch("change", { method: "POST", headers: { Authorization: "Bearer " + (sessionStorage.getItem("token") || "") }, body: JSON.stringify({ link: chosen, ...what }) });
  $("change_said").className = answer.ok ? "" : "bad";
  $("change_said").textContent = answer.ok ? "done; see Events" : (await answer.text()).trim();
  look();
}
function changeKeys(event) {
  event.preventDefault();
  const f = $("change").elements, keys = f.keys.value.trim() ? [f.keys.value.trim()] : [];
  for (const key of ["rate", "queues"]) if (f[key].value.trim()) keys.push(`${key}=${f[key].value.trim()}`);
  if (keys.length) change({ do: "set", keys });
}
async function drawSessions() {
  if (chosen === null || state.phase === "ended") { $("sessions").replaceChildren(); return; }
  const wanted = chosen, answer = await ask("sessions.json?link=" + encodeURIComponent(wanted));
  if (!answer.ok || wanted !== chosen) return;
  const ends = Object.entries(await answer.json()), table = element("table", {}, element("thead", {}, head("<At", "<Direction", "Number", "Length", "Done", "Age")), element("tbody", {},
    ...ends.flatMap(([end, told]) => told.error ? [element("tr", {}, cell(end, "t"), cell(told.error, "t bad"))] : told.sessions.map((s) => element("tr", {}, cell(end, "t"), cell(s.direction ?? s.role ?? "–", "t"),
      cell(s.number ?? s.peer ?? "–"), cell(bytes(s.length)), cell(bytes(s.done)), cell(nanos(s.age_ns)))))));
  $("sessions").replaceChildren(element("h2", {}, `Open sessions of ${wanted}`), element("div", { class: "scroll" }, table));
}
function choose(link) {
  $("change_said").textContent = "";
  chosen = chosen === link ? null : link;
  draw();
}
function draw() {
  drawHead();
  drawMap();
  drawTables();
  drawContacts();
  drawWaits();
  drawChange();
  drawWay().catch(() => {});
  drawSessions().catch(() => {});
}
function trouble(text, over) {
  $("trouble").textContent = text;
  $("trouble").classList.toggle("over", over);
}
async function look() {
  clearTimeout(timer);
  try {
    const answer = await ask("state.json");
    $("ask").hidden = answer.status !== 401;
    if (answer.status === 401) throw new Error("This page wants its access token, which helio-lab printed when it began");
    if (!answer.ok) throw new Error("the page's server answers " + answer.status);
    const next = await answer.json();
    if (role === null) await askRole();
    if (state && next.seconds < state.seconds) past.clear();
    if (next.title !== undefined) { state = next; received = performance.now(); remember(); draw(); }
    trouble(state && state.phase === "ended" ? "The lab has ended; this is its last state." + (next.message ? " " + next.message : "") : next.message || "", state && state.phase === "ended");
  } catch (e) {
    trouble((e instanceof TypeError ? "The page's server does not answer" : e.message) + (state ? "; this is what was seen last." : "."), false);
  }
  timer = setTimeout(look, document.hidden ? HIDDEN : EVERY);
}
$("ask").addEventListener("submit", useToken);
$("find").addEventListener("submit", (event) => { event.preventDefault(); follow(); });
$("change").addEventListener("submit", changeKeys);
for (const name of ["down", "up"]) $("change").elements[name].addEventListener("click", () => change({ do: name }));
document.addEventListener("visibilitychange", () => document.hidden || look());
look();
