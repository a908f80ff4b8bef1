// The status page of a controller: keeps its events and shows them by the report's charts.

import { count, digits, percent, quantity, time } from "./format.js";
import { Heat } from "./heat.js";
import { Matrix } from "./matrix.js";
import { Rolling } from "./rolling.js";
import { Stream } from "./stream.js";
import { make, tableBehind } from "./table.js";
import { themeButton } from "./theme.js";

/** Number of kept samples of fill: ten minutes. */
const SAMPLES = 1200;
/** How long a host's fill is valid, in ps. */
const LASTS = 2e12;
const HELD_WORDS = {
  bars: "Color: receiver. Sent bytes are known only per host, see below. Dashed line: now.",
  share: "Planned share of a pixel's time: ",
};
const byId = (id) => document.getElementById(id);

/** State for programs that inspect the page. `slots` and `events` count received ones. */
const timeplane = { charts: {}, about: null, hosts: new Map(), demand: [], counters: {}, observed: null, slots: 0, held: [], events: 0, state: "connecting" };
window.timeplane = timeplane;
let tables = [];
let cells = null;
/** The browser's clock at a controller's time in ns, by the last event. */
let wallOf = () => 0;

/** Noun of a planned opening. */
const held = (about) => (about.plan === "circuits" ? "circuit" : "slot");
const host = (number) => `host ${number}`;
const clockTime = (ms) => new Date(ms).toLocaleTimeString("en-GB");
const section = (id, title, about) => {
  const place = make("section", { id }, make("h2", {}, title));
  if (about) place.append(make("p", { class: "about" }, about));
  byId("charts").append(place);
  return place;
};
const column = (name, unit, at) => ({ name, unit, at });

/** Rebuild the page: the events may come from another controller. */
function begin(data) {
  const { about } = data;
  Object.assign(timeplane, { about, hosts: new Map(), demand: Array.from({ length: about.hosts }, () => new Map()), charts: {} });
  Object.assign(timeplane, { counters: {}, observed: null, slots: 0, held: new Array(about.hosts).fill(0) });
  tables = [];
  byId("charts").replaceChildren();
  const place = about.place ? `, controller ${about.place}` : "";
  byId("title").textContent = `${about.scenario}: ${about.scheme}${place}`;
  document.title = `${about.scheme} - timeplane live`;
  const names = Array.from({ length: about.hosts }, (_, n) => host(n));
  schedule(about, names);
  if (about.plan !== "rates") {
    section("fill", `How full ${held(about)}s are`, `Per host: bytes that its agent sent in the last seconds, relative to the capacity of its planned ${held(about)}s. Agents report once a second. More than 100 % means that a ${held(about)} lasted longer than planned.`)
      .append(make("p", { class: "quiet" }, "Unknown yet: no agent has reported twice."));
  }
  const demand = section("demand", "Backlog", "Wire bytes by sender and receiver, as last reported by hosts.");
  timeplane.charts.demand = new Matrix(demand, names, "Matrix of the backlog: a row per sender, a column per receiver.", "B");
  let pairs = [];
  const rows = () => (pairs = timeplane.demand.flatMap((row, from) => [...row].map(([to, bytes]) => [from, to, bytes])));
  tables.push(tableBehind(demand, "demand.csv", [
    column("from", "", (row) => host(pairs[row][0])),
    column("to", "", (row) => host(pairs[row][1])),
    column("bytes", "B", (row) => pairs[row][2]),
  ], () => rows().length));
  hostTable(about);
  section("lag", "Lag and violations", null).append(make("div", { class: "scroll" }, make("table", {}, make("tbody", {}))), make("div", { id: "ports" }));
}

function schedule(about, names) {
  const place = section("schedule", `Schedule of ${held(about)}s`, null);
  if (about.plan === "rates") {
    place.append(make("p", {}, "This scheme plans rates and has no slots."));
    return;
  }
  place.append(make("p", { class: "about" }, `A lane per sender. Shows each ${held(about)} planned since this page was opened. Times count from the controller's start.`));
  place.append(make("p", { id: "left-out", class: "warning", hidden: true }));
  const options = { kinds: names.map((n) => `to ${n}`), tell: (_, slot) => `; round ${chart.numbers[slot].join(", slot ")}`, words: HELD_WORDS };
  const chart = new Rolling(place, names, "Gantt chart of planned slots: a lane per sending host.", options);
  timeplane.charts.schedule = chart;
  const { slots, bars } = chart;
  // Newest first.
  const bar = (row) => bars.lane.length - 1 - row;
  const slot = (row) => chart.slotOf(bar(row));
  tables.push(tableBehind(place, "slots.csv", [
    column("round", "", (row) => chart.numbers[slot(row)][0]),
    column("slot", "", (row) => chart.numbers[slot(row)][1]),
    column("start_ps", "ps", (row) => slots.begin.values[slot(row)]),
    column("open_ps", "ps", (row) => slots.open.values[slot(row)]),
    column("gap_ps", "ps", (row) => slots.gap.values[slot(row)]),
    column("source", "", (row) => bars.lane.values[bar(row)]),
    column("destination", "", (row) => bars.kind.values[bar(row)]),
  ], () => bars.lane.length));
}

function hostTable(about) {
  const place = section("hosts", "Hosts", "Silent: the connection to the controller ended, or was idle for a second. Other hosts get its slots from the next round on. Late: the host is connected, but a report is overdue.");
  const heads = ["host", "state", "last report", "waits", `${held(about)}s`, "fill", "late grants", "late frames", "sent"];
  const body = make("tbody");
  cells = Array.from({ length: about.hosts }, (_, n) => {
    const row = make("tr", {}, make("th", { scope: "row" }, host(n)), ...heads.slice(1).map(() => make("td", {}, "-")));
    body.append(row);
    return row;
  });
  const head = make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h))));
  place.append(make("div", { class: "scroll", tabindex: 0 }, make("table", {}, head, body)));
}

const STATES = { absent: "not there yet", joined: "there", late: "late", silent: "silent" };

/** Texts of a host's row without its name. */
function hostRow(number) {
  const of = timeplane.hosts.get(number);
  if (!of) return [];
  const since = of.state === "silent" ? ` since ${clockTime(wallOf(of.left_ns))}` : "";
  const waits = [...timeplane.demand[number].values()].reduce((a, b) => a + b, 0);
  const known = (value, show) => (value === null || value === undefined ? "-" : show(value));
  const sent = timeplane.about.plan === "circuits" ? "circuit_wire_bytes" : "wire_bytes";
  return [
    STATES[of.state] + since,
    known(of.reported_ns, (ns) => (of.state === "joined" || of.state === "late" ? `${ago(wallOf(ns))} ago` : clockTime(wallOf(ns)))),
    quantity(waits, "B"),
    timeplane.about.plan === "rates" ? "-" : count(timeplane.held[number]),
    known(of.fill, percent),
    known(of.counts?.late, count),
    known(of.counts?.too_late, count),
    known(of.counts?.[sent], (bytes) => quantity(bytes, "B")),
  ];
}

const ago = (ms) => time(Math.max(Date.now() - ms, 0) * 1e9);

/** Write a text if it changed: screen readers announce changes. */
const write = (element, text) => element.textContent !== text && (element.textContent = text);

function showHosts() {
  cells.forEach((row, number) => {
    const texts = hostRow(number);
    texts.forEach((text, i) => write(row.children[i + 1], text));
    const state = timeplane.hosts.get(number)?.state;
    row.className = state === "silent" || state === "late" ? "away" : "";
  });
  const all = [...timeplane.hosts].map(([number, of]) => ({ number, ...of }));
  const names = (state, since) => all.filter((h) => h.state === state).map((h) => `${host(h.number)}${since(h)}`);
  const silent = names("silent", (h) => ` since ${clockTime(wallOf(h.left_ns))}`);
  const late = names("late", (h) => ` (last report ${clockTime(wallOf(h.reported_ns))})`);
  const lines = [["Silent", silent], ["Late", late]].filter(([, list]) => list.length).map(([what, list]) => `${what}: ${list.join(", ")}.`);
  const shown = [...byId("silent").children].map((p) => p.textContent);
  if (lines.join("\n") !== shown.join("\n")) byId("silent").replaceChildren(...lines.map((text) => make("p", { class: "warning" }, text)));
}

function addSlots(columns, nowPs) {
  const chart = timeplane.charts.schedule;
  if (!chart) return;
  const ps = (name) => Float64Array.from(columns[name], (ns) => ns * 1000);
  const [begins, open, gap] = ["begin_ns", "open_ns", "gap_ns"].map(ps);
  // Circuits start when they carry; the time before, up to the switch's dark time, is dark.
  const { slots } = chart;
  const last = slots.begin.length - 1;
  let end = last < 0 ? Infinity : slots.begin.values[last] + slots.open.values[last];
  const dark = begins.map((begin, i) => {
    const before = Math.min(Math.max(begin - end, 0), timeplane.about.dark_ns * 1000);
    end = begin + open[i];
    return before;
  });
  const lane = Uint32Array.from(columns.source);
  const shown = { begin: begins, open, gap, dark, pairs: columns.pairs, lane, kind: columns.destination, level: new Float32Array(lane.length).fill(NaN) };
  timeplane.slots += begins.length;
  lane.forEach((number) => (timeplane.held[number] += 1));
  chart.add(shown, columns.round.map((round, i) => [round, columns.slot[i]]), nowPs);
}

function showFill(nowPs) {
  const filled = [...timeplane.hosts].filter(([, of]) => of.fill !== null && of.state !== "silent");
  if (!filled.length || !byId("fill")) return;
  if (!timeplane.charts.fill) {
    byId("fill").lastChild.remove();
    const names = Array.from({ length: timeplane.about.hosts }, (_, n) => host(n));
    timeplane.charts.fill = new Heat(byId("fill"), names, "Heat map of the used share of slots: a lane per host.", "%", { missing: "unknown", lasts: LASTS });
    timeplane.charts.fill.most = 100;
  }
  const chart = timeplane.charts.fill;
  chart.update(filled.map(() => nowPs), filled.map(([number]) => number), filled.map(([, of]) => Math.round(1000 * of.fill) / 10));
  chart.keep(SAMPLES);
}

/** Counters of the controller and of an observer: name, value, and meaning. */
function lagLines() {
  const { counters, observed, about } = timeplane;
  const of = (name) => count(counters[name] ?? 0);
  const lines = [
    ["planned", about.plan === "rates" ? `${of("grants")} messages of rates` : `${of("slots")} ${about.plan === "circuits" ? "configurations" : "slots"} in ${of("rounds")} rounds`, "since the controller's start"],
    ["slipped", `${of("slips")} times, ${time((counters.slipped_ns ?? 0) * 1000)} in total`, "the controller woke late and delayed its schedule"],
    ["rejected plans", of("refused_plans"), "rounds that could not be granted and stayed empty"],
  ];
  const reports = [...timeplane.hosts.entries()].filter(([, h]) => (h.state === "joined" || h.state === "late") && h.reported_ns !== null);
  if (reports.length) {
    const [number, oldest] = reports.reduce((a, b) => (a[1].reported_ns <= b[1].reported_ns ? a : b));
    lines.push(["oldest report", `${ago(wallOf(oldest.reported_ns))} ago, from ${host(number)}`, "of connected hosts"]);
  }
  if (!observed) {
    lines.push(["violations", "unknown", "no observer at the switch reports to this controller"]);
    return lines;
  }
  const us = (value) => (value === null ? "-" : time(value * 1e6));
  const used = observed.slots ? percent((observed.slots - observed.empty_slots) / observed.slots) : "-";
  lines.push(
    ["violations", `${count(observed.violations)} of ${count(observed.frames)} frames`, "frames during another host's slot, counted by an observer at the switch"],
    ["reaction time of hosts", `median ${us(observed.reaction.p50_us)}, 99th percentile ${us(observed.reaction.p99_us)}`, "from a slot's end to its last frame"],
    ["spread of signals", observed.spread ? `median ${us(observed.spread.p50_us)}, 99th percentile ${us(observed.spread.p99_us)}` : "-", "from a slot's first opening signal to the others, over ports"],
    ["slots used", used, "slots with at least one frame"],
    ["filled", observed.filled === null ? "-" : percent(observed.filled), "of the capacity of open slots at all ports"],
  );
  return lines;
}

function showLag() {
  const body = byId("lag").querySelector("tbody");
  const lines = lagLines();
  if (body.children.length !== lines.length) {
    body.replaceChildren(...lines.map(() => make("tr", {}, make("th", { scope: "row" }), make("td", { class: "text" }), make("td", { class: "text quiet" }))));
  }
  lines.forEach((line, i) => line.forEach((text, j) => write(body.children[i].children[j], text)));
  const bad = timeplane.observed?.ports.filter((p) => p.violations > 0) ?? [];
  const text = (p) => `At ${p.interface}: ${count(p.violations)} of ${count(p.frames)} frames in other hosts' slots${p.ignores_slots ? "; this host ignores its slots" : ""}.`;
  const texts = bad.map(text);
  const shown = [...byId("ports").children].map((p) => p.textContent);
  if (texts.join("\n") !== shown.join("\n")) byId("ports").replaceChildren(...texts.map((t) => make("p", { class: "warning" }, t)));
}

function heard(kind, data) {
  if (kind === "snapshot") begin(data);
  timeplane.events += 1;
  const received = Date.now();
  wallOf = (ns) => received - (data.now_ns - ns) / 1e6;
  for (const [number, of] of Object.entries(data.hosts ?? {})) timeplane.hosts.set(Number(number), of);
  for (const [number, row] of Object.entries(data.demand ?? {})) {
    timeplane.demand[number] = new Map(Object.entries(row).map(([to, bytes]) => [Number(to), bytes]));
  }
  if (data.counters) timeplane.counters = data.counters;
  if (data.observed) timeplane.observed = data.observed;
  if (data.slots?.begin_ns.length) addSlots(data.slots, data.now_ns * 1000);
  if (data.left_out && byId("left-out")) {
    byId("left-out").hidden = false;
    write(byId("left-out"), `${count(data.left_out)} slots are not in the chart: more were planned than the controller sends to a page.`);
  }
  if (!data.hosts) return;
  showHosts();
  showFill(data.now_ns * 1000);
  timeplane.charts.demand.update(timeplane.demand);
  showLag();
  tables.forEach((table) => table.refresh());
}

function state(now, why) {
  const { about } = timeplane;
  timeplane.state = now;
  const line = byId("state");
  const texts = {
    connected: () => `Connected: scheme ${about.scheme}, ${count(about.hosts)} hosts.`,
    gone: () => `${about ? "The controller is gone" : "No controller answers"} (${why}): reconnecting.`,
    refused: () => "The controller rejected this page's token. It creates a new one at each start.",
  };
  write(line, texts[now]());
  line.className = now === "connected" ? "about" : "warning";
  document.body.classList.toggle("stale", now !== "connected" && about !== null);
  if (now === "refused") ask();
}

/** Ask for a valid token. */
function ask() {
  const field = make("input", { id: "token-field", autocomplete: "off", spellcheck: "false", size: 40 });
  const go = () => {
    const token = field.value.trim();
    if (!token) return;
    byId("token").replaceChildren();
    listen(token);
  };
  field.addEventListener("keydown", (event) => event.key === "Enter" && go());
  const label = make("label", { for: "token-field" }, "Token, from the file that the controller names at its start (status.token): ");
  byId("token").replaceChildren(make("p", {}, label, field, " ", make("button", { type: "button", click: go }, "Connect")));
}

let stream = null;

function listen(token) {
  // Keep the token for reloads of this tab. The address would be visible to others.
  sessionStorage.setItem("token", token);
  write(byId("state"), "Connecting.");
  stream = new Stream("events", token, heard, state);
}

function show() {
  themeButton(() => timeplane.charts);
  setInterval(() => {
    const last = stream?.last;
    const text = last && timeplane.state !== "connected" ? `Last heard ${digits(Math.round((Date.now() - last) / 1000))} s ago, at ${clockTime(last)}. The data below is from that time.` : "";
    write(byId("heard"), text);
  }, 500);
  const given = location.hash.slice(1);
  if (given) history.replaceState(null, "", location.pathname);
  const token = given || sessionStorage.getItem("token");
  if (token) {
    listen(token);
  } else {
    write(byId("state"), "This page needs the controller's token.");
    ask();
  }
}

show();
