// The report's page: its charts, their data, and when all are drawn.

import { cannotUnpack, table } from "./decode.js";
import { bytes, digits, percent, rate, time } from "./format.js";
import { Drops } from "./drops.js";
import { Gantt, bytesOf } from "./gantt.js";
import { Heat } from "./heat.js";
import { Lines, logarithmic, ratio, shares } from "./lines.js";
import { picture } from "./metrics.js";
import { choice, make, tableBehind } from "./table.js";
import { themeButton } from "./theme.js";
import { Topology, nodeLabel, nodeName } from "./topology.js";

const data = JSON.parse(document.getElementById("data").textContent);
const state = document.getElementById("state");
/**
 * State for programs that inspect the page: charts by name, `table(number)`, and `ready`, the time
 * in ms when all were drawn.
 */
const timeplane = { data, table, charts: {}, ready: null };
window.timeplane = timeplane;

const schemeNumber = (name) => data.schemes.indexOf(name);
const nameOf = (number) => {
  const run = data.runs[number];
  const point = data.points[run.point];
  const seed = data.runs.filter((r) => r.scheme === run.scheme && r.point === run.point).length > 1;
  return data.schemes[run.scheme] + (point ? `, ${point}` : "") + (seed ? `, seed ${run.seed}` : "");
};

/** Append a section with a title; return the element for its content. */
function section(id, title, about) {
  const place = make("section", { id }, make("h2", {}, title));
  if (about) place.append(make("p", { class: "about" }, about));
  document.getElementById("charts").append(place);
  return place;
}

/**
 * A chart with a selection of `options`, of which the first is shown; `show(place, value)` draws
 * it.
 */
async function oneOf(place, label, options, show) {
  const body = make("div");
  const chosen = async (value) => {
    body.replaceChildren();
    await show(body, value);
  };
  place.append(make("p", {}, choice(label, options, chosen)), body);
  await chosen(options[0].value);
}

/** A column of the table behind a chart; `at(row)` is a value. */
const column = (name, unit, at) => ({ name, unit, at });
const known = (value) => (Number.isNaN(value) ? null : value);
/** The same for a column of one of the page's tables. */
const plain = (columns, name) => {
  const { unit, values, words } = columns[name];
  return column(name, unit, words ? (row) => words[values[row]] : (row) => known(values[row]));
};

async function distributions(kind, title, about) {
  const all = data.distributions.all.filter((d) => d.kind === kind);
  if (!all.length) return;
  const place = section(kind, title, about);
  const options = all.map((one) => ({ value: one, text: data.points[one.point] }));
  await oneOf(place, "Point", options, async (body, one) => {
    const { columns, rows } = await table(one.table);
    const names = Object.keys(columns);
    const x = columns.time_ps.values;
    const lines = one.lines.map((line) => {
      const counts = line.measured.map((_, run) => columns[names[line.first + run]].values);
      return { name: line.scheme, number: schemeNumber(line.scheme), ...shares(counts, line.measured, data.distributions.t) };
    });
    const labels = { labelX: title, labelY: "completed share", showX: time, showY: percent };
    timeplane.charts[kind] = new Lines(body, `${title}, a line per scheme.`, { x, lines, ...labels });
    for (const line of one.lines) {
      const [measured, finished] = [line.measured, line.finished].map((list) => list.reduce((a, b) => a + b, 0));
      if (finished < measured) {
        body.append(make("p", { class: "warning" }, `${line.scheme}: ${measured - finished} of ${measured} did not finish, so its line ends below 100 %.`));
      }
    }
    tableBehind(body, `${kind}.csv`, names.map((name) => plain(columns, name)), () => rows);
  });
}

async function slowdown() {
  if (!data.slowdown.length) return;
  const place = section("slowdown", "Slowdown by size", "Completion time relative to an empty network, of finished flows, in three bins per decade of bytes. Bands: 95 % intervals over seeds.");
  const options = data.slowdown.flatMap((one) =>
    [["p99", "99th percentile"], ["p50", "median"]].map(([stat, text]) => {
      const point = data.points[one.point];
      return { value: { one, stat, text }, text: point ? `${text}, ${point}` : text };
    }),
  );
  await oneOf(place, "Show", options, async (body, { one, stat, text }) => {
    const edges = [...new Set(one.lines.flatMap((l) => l.bins.map((b) => b.from_bytes)))].sort((a, b) => a - b);
    const lines = one.lines.map((line) => {
      const at = (pick) => edges.map((edge) => {
        const bin = line.bins.find((b) => b.from_bytes === edge);
        return bin ? pick(bin[stat]) : null;
      });
      const bands = line.bins.some((b) => b[stat][1] !== null);
      const end = (v) => logarithmic(v[0], v[1] ?? 0);
      // No flow is faster than in an empty network.
      const band = bands ? { low: at((v) => Math.max(end(v)[0], Math.min(v[0], 1))), high: at((v) => end(v)[1]) } : { low: null, high: null };
      return { name: line.scheme, number: schemeNumber(line.scheme), y: at((v) => v[0]), ...band };
    });
    const labels = { labelX: "size of the flow (at least)", labelY: `slowdown, ${text}`, showX: bytes, showY: ratio, logY: true };
    timeplane.charts.slowdown = new Lines(body, "Slowdown by size of flows, a line per scheme.", { x: edges.map((e) => Math.max(e, 1)), lines, ...labels });
    const rows = one.lines.flatMap((line) => line.bins.map((bin) => ({ scheme: line.scheme, ...bin })));
    const pick = (name, unit, of) => column(name, unit, (row) => of(rows[row]));
    const number = (value) => (value === null ? null : digits(value));
    tableBehind(body, "slowdown.csv", [
      pick("scheme", "", (r) => r.scheme),
      pick("from_bytes", "B", (r) => r.from_bytes),
      pick("flows", "", (r) => r.flows),
      pick("p50", "", (r) => number(r.p50[0])),
      pick("p50_half_width", "", (r) => number(r.p50[1])),
      pick("p99", "", (r) => number(r.p99[0])),
      pick("p99_half_width", "", (r) => number(r.p99[1])),
    ], () => rows.length);
  });
}

const runOptions = (all) => all.map((one) => ({ value: one, text: nameOf(one.run) }));

/** Draw slots or circuits with a lane per sender. */
async function slotted(body, one) {
  const [slots, pairs] = await Promise.all(one.tables.map(table));
  const column_ = (from, name) => from.columns[name].values;
  const [source, destination, granted, sent] = ["source", "destination", "granted_bytes", "sent_bytes"].map((n) => column_(pairs, n));
  let hosts = 0;
  for (let i = 0; i < pairs.rows; i += 1) hosts = Math.max(hosts, source[i] + 1, destination[i] + 1);
  hosts = Math.max(hosts, data.links.find((l) => l.run === one.run)?.hosts ?? 0);
  const names = Array.from({ length: hosts }, (_, host) => `host ${host}`);
  const level = new Float32Array(pairs.rows);
  for (let i = 0; i < pairs.rows; i += 1) level[i] = granted[i] ? sent[i] / granted[i] : NaN;
  const options = { kinds: names.map((n) => `to ${n}`), moved: one.moved_only, tell: (bar) => bytesOf(granted[bar], sent[bar]) };
  const what = one.kind === "circuits" ? "circuits" : "slots";
  const chart = new Gantt(body, names, `Gantt chart of ${what}: a lane per sending host.`, options);
  const [begin, open, gap, dark, count_] = ["start_ps", "open_ps", "gap_ps", "dark_ps", "pairs"].map((n) => column_(slots, n));
  chart.update({ begin, open, gap, dark, pairs: count_, lane: source, kind: destination, level });
  timeplane.charts.schedule = chart;
  // The slot of each row, computed on first use.
  let slotOf = null;
  const slot = (row) => {
    if (!slotOf) {
      slotOf = new Uint32Array(pairs.rows);
      for (let i = 0, row_ = 0; i < slots.rows; i += 1) for (let n = count_[i]; n > 0; n -= 1) slotOf[row_++] = i;
    }
    return slotOf[row];
  };
  const ofSlot = ["round", "slot", "start_ps", "open_ps", "gap_ps", "dark_ps"].map((name) => {
    const { unit, values } = slots.columns[name];
    return column(name, unit, (row) => values[slot(row)]);
  });
  const ofPair = ["source", "destination", "granted_bytes", "sent_bytes"].map((name) => plain(pairs.columns, name));
  tableBehind(body, `${what}.csv`, [...ofSlot, ...ofPair], () => pairs.rows);
}

/** Rows by time. */
const byTime = (at) => Array.from(at, (_, row) => row).sort((a, b) => at[a] - at[b] || a - b);

/** How long each row lasts in ps: until the next one of its `of`, or the end of the run. */
function lasting(at, of, end) {
  const open = new Float64Array(at.length);
  const next = new Map();
  for (const row of byTime(at).reverse()) {
    open[row] = Math.max((next.get(of[row]) ?? end) - at[row], 0);
    next.set(of[row], at[row]);
  }
  return open;
}

/**
 * Draw rates of lanes: a bar from each change to the next one of the same `of`, shaded by rate.
 * `shows(row)` is whether it has a bar, and `carries(row)` whether it sends; `naming` names a lane.
 */
function shaded(body, one, { columns, rows, lane, of = lane, naming, about, kinds, kind, tell, label = null, shows = () => true, carries = () => true }) {
  const [at, bps] = ["time_ps", "rate_bps"].map((name) => columns[name].values);
  const numbers = [...new Set(lane.filter((_, row) => shows(row)))].sort((a, b) => a - b);
  const laneOf = new Map(numbers.map((number, place) => [number, place]));
  const open = lasting(at, of, data.runs[one.run].simulated_ps);
  // Rows are ordered by lane or by time, bars by time.
  const order = byTime(at).filter(shows);
  const by = (Type, pick) => Type.from(order, pick);
  const most = bps.reduce((a, b) => Math.max(a, b), 1);
  const options = { kinds, tell: (bar) => tell(order[bar]), label: label && ((bar) => label(order[bar])), shades: true };
  const chart = new Gantt(body, numbers.map(naming), about, options);
  const none = new Float64Array(order.length);
  chart.setScale([[0, "nothing"], [0.25, rate(most / 4)], [0.5, rate(most / 2)], [1, rate(most)]]);
  chart.update({
    begin: by(Float64Array, (row) => at[row]),
    open: by(Float64Array, (row) => open[row]),
    gap: none,
    dark: none,
    pairs: new Uint32Array(order.length).fill(1),
    lane: by(Uint32Array, (row) => laneOf.get(lane[row])),
    kind: by(Uint32Array, kind),
    level: by(Float32Array, (row) => (carries(row) ? bps[row] / most : 0)),
  });
  timeplane.charts.schedule = chart;
  tableBehind(body, `${one.kind}.csv`, Object.keys(columns).map((name) => plain(columns, name)), () => rows);
}

/** Draw granted rates of pairs of hosts. */
async function rates(body, one) {
  const { columns, rows } = await table(one.tables[0]);
  const [source, destination, bps] = ["source", "destination", "rate_bps"].map((name) => columns[name].values);
  let hosts = 1;
  for (let row = 0; row < rows; row += 1) hosts = Math.max(hosts, source[row] + 1, destination[row] + 1);
  shaded(body, one, {
    columns,
    rows,
    lane: Float64Array.from(source, (from, row) => from * hosts + destination[row]),
    naming: (pair) => `${Math.floor(pair / hosts)} to ${pair % hosts}`,
    about: "Gantt chart of rates: a lane per pair of hosts, shaded by its granted rate.",
    kinds: ["closed", "open"],
    kind: (row) => (bps[row] > 0 ? 1 : 0),
    tell: (row) => `; ${rate(bps[row])}`,
    label: (row) => (bps[row] > 0 ? rate(bps[row]) : null),
  });
}

/** Draw what air links were, a lane for each pair of ends, and add up what they carried. */
async function air(body, one) {
  const { columns, rows } = await table(one.tables[0]);
  const names = ["time_ps", "link", "from", "to", "rate_bps", "state", "mcs", "lost_ppm", "airtime_ps", "carried_bytes"];
  const [at, link, from, to, bps, state_, mcs, lost, airtime, carried] = names.map((n) => columns[n].values);
  const words = columns.state.words ?? [];
  const word = (row) => words[state_[row]];
  const used = (row) => word(row) === "used";
  const network = data.links.find((l) => l.run === one.run) ?? { hosts: 0 };
  let nodes = network.hosts;
  for (let row = 0; row < rows; row += 1) nodes = Math.max(nodes, from[row] + 1, Number.isNaN(to[row]) ? 0 : to[row] + 1);
  const short = (node) => nodeLabel(node, network);
  const lane = Float64Array.from(from, (node, row) => node * nodes + (Number.isNaN(to[row]) ? node : to[row]));
  const until = lasting(at, link, data.runs[one.run].simulated_ps);
  const loss = (row) => (Number.isNaN(lost[row]) ? "" : `, ${percent(lost[row] / 1e6)} lost`);
  const share = (part, whole) => (whole > 0 ? percent(part / whole) : null);
  shaded(body, one, {
    columns,
    rows,
    lane,
    of: link,
    naming: (pair) => `${short(Math.floor(pair / nodes))} to ${short(pair % nodes)}`,
    about: "Gantt chart of air links: a lane per pair of ends, shaded by rate.",
    kinds: words,
    kind: (row) => state_[row],
    tell: (row) =>
      used(row)
        ? `; MCS ${mcs[row]}, ${rate(bps[row])}${loss(row)}; in the air for ${share(airtime[row], until[row]) ?? "0 %"}, ${bytes(carried[row])} carried`
        : `; ${word(row)}${Number.isNaN(mcs[row]) ? "" : `, MCS ${mcs[row]}`}`,
    label: (row) => (used(row) && !Number.isNaN(mcs[row]) ? `MCS ${mcs[row]}` : null),
    // A link without another end is on no lane. An unused one carries nothing, whatever its rate.
    shows: (row) => !Number.isNaN(to[row]),
    carries: used,
  });
  // Sums by pair of ends.
  const sums = new Map();
  for (let row = 0; row < rows; row += 1) {
    if (Number.isNaN(to[row])) continue;
    const sum = sums.get(lane[row]) ?? { from: from[row], to: to[row], used: 0, pointing: 0, airtime: 0, carried: 0, least: Infinity, most: 0 };
    sums.set(lane[row], sum);
    sum.airtime += airtime[row];
    sum.carried += carried[row];
    if (word(row) === "pointing") sum.pointing += until[row];
    if (!used(row)) continue;
    sum.used += until[row];
    if (mcs[row] < sum.least) sum.least = mcs[row];
    if (mcs[row] > sum.most) sum.most = mcs[row];
  }
  const pairs = [...sums.values()].sort((a, b) => b.carried - a.carried);
  const pick = (name, unit, of) => column(name, unit, (row) => of(pairs[row]));
  const shown = [
    pick("from", "", (p) => short(p.from)),
    pick("to", "", (p) => short(p.to)),
    pick("MCS", "", (p) => (p.most < p.least ? null : p.least === p.most ? `${p.most}` : `${p.least} to ${p.most}`)),
    pick("used", "ps", (p) => p.used),
    pick("pointing", "ps", (p) => p.pointing),
    pick("airtime", "ps", (p) => p.airtime),
    pick("in the air while used", "", (p) => share(p.airtime, p.used)),
    pick("carried", "B", (p) => p.carried),
  ];
  // Only controllers of flyways point.
  const columns_ = shown.filter((c) => c.name !== "pointing" || pairs.some((p) => p.pointing > 0));
  tableBehind(body, "air-links.csv", columns_, () => pairs.length, "Sums of each pair of ends").open = true;
}

async function schedules() {
  if (!data.schedules.length) return;
  const place = section("schedule", "The schedule", null);
  place.append(make("p", { class: "about" }, "The first seed of each scheme. Slots and circuits: sender, receiver and time. Rates: granted rates of pairs. Air links: their ends, rates and MCS."));
  const several = (one) => data.schedules.filter((s) => s.run === one.run).length > 1;
  const options = data.schedules.map((one) => ({ value: one, text: nameOf(one.run) + (several(one) ? `: ${one.kind}` : "") }));
  await oneOf(place, "Run", options, async (body, one) => {
    if (one.rows < one.of) body.append(make("p", { class: "warning" }, `The first ${one.rows.toLocaleString("en-US")} of ${one.of.toLocaleString("en-US")} rows.`));
    await ({ air, rates }[one.kind] ?? slotted)(body, one);
  });
}

/** A function that names the link of a queue. */
async function linkNames(run) {
  const links = data.links.find((l) => l.run === run);
  if (!links) return (link) => `link ${link}`;
  const { columns } = await table(links.table);
  const at = new Map(Array.from(columns.link.values, (link, i) => [link, i]));
  const node = (n) => nodeLabel(n, links);
  return (link) => (at.has(link) ? `${node(columns.from.values[at.get(link)])} to ${node(columns.to.values[at.get(link)])}` : `link ${link}`);
}

async function queues() {
  if (!data.queues.length) return;
  const place = section("queues", "Queues over time", null);
  place.append(make("p", { class: "about" }, "Queued wire bytes of each link (hosts h, switches s, racks under rotor switches r) at each sample. Links with an empty queue throughout are omitted."));
  await oneOf(place, "Run", runOptions(data.queues), async (body, one) => {
    const { columns, rows } = await table(one.table);
    const link = columns.link.values;
    const numbers = [...new Set(link)].sort((a, b) => a - b);
    const laneOf = new Map(numbers.map((number, lane) => [number, lane]));
    const chart = new Heat(body, numbers.map(await linkNames(one.run)), "Heat map of queues: a lane per link.", "B");
    chart.update(columns.time_ps.values, Uint32Array.from(link, (l) => laneOf.get(l)), columns.queue_bytes.values);
    timeplane.charts.queues = chart;
    tableBehind(body, "queues.csv", Object.keys(columns).map((name) => plain(columns, name)), () => rows);
  });
}

async function links() {
  if (!data.links.length) return;
  const place = section("links", "Topology and load", "The first seed of each scheme, over the whole run.");
  await oneOf(place, "Run", runOptions(data.links), async (body, one) => {
    const { columns, rows } = await table(one.table);
    const values = Object.fromEntries(Object.entries(columns).map(([name, c]) => [name, c.values]));
    const chart = new Topology(body);
    const span = data.runs[one.run].simulated_ps;
    chart.update(values, one, span);
    timeplane.charts.links = chart;
    const node = (name) => column(name, "", (row) => nodeName(values[name][row], one));
    const load = column("busy", "", (row) => percent(values.busy_ps[row] / span));
    const rest = ["sent_packets", "sent_bytes", "busy_ps", "max_queue_bytes"].map((name) => plain(columns, name));
    tableBehind(body, "links.csv", [plain(columns, "link"), node("from"), node("to"), load, ...rest], () => rows);
  });
}

async function drops() {
  const { reasons, means, tables } = data.drops;
  const place = section("drops", "Drops by reason", null);
  if (!reasons.length) {
    place.append(make("p", {}, "No packet was dropped in any run."));
    return;
  }
  place.append(make("p", { class: "about" }, "Dropped packets in the whole run, mean over seeds."));
  const points = [...new Set(means.map((m) => m.point))].map((point) => ({ value: point, text: data.points[point] }));
  await oneOf(place, "Point", points, async (body, point) => {
    const rows = means.filter((m) => m.point === point);
    const chart = new Drops(body, reasons);
    chart.update(rows);
    timeplane.charts.drops = chart;
    const of = (i, part) => (row) => (rows[row].reasons[i][part] === null ? null : digits(rows[row].reasons[i][part]));
    const each = reasons.flatMap((r, i) => [column(`${r}_packets`, "", of(i, "mean")), column(`${r}_half_width`, "", of(i, "half"))]);
    const sent = column("sent_packets", "", (row) => digits(rows[row].sent));
    tableBehind(body, "drops.csv", [column("scheme", "", (row) => rows[row].scheme), sent, ...each], () => rows.length);
  });
  if (tables.length) {
    const details = make("details", { class: "behind" }, make("summary", {}, "By link"));
    place.append(details);
    await oneOf(details, "Run", runOptions(tables), async (body, one) => {
      const { columns, rows } = await table(one.table);
      tableBehind(body, "drops-by-link.csv", Object.keys(columns).map((name) => plain(columns, name)), () => rows);
    });
  }
}

/** Say what a scenario can record that is not in here. */
function more() {
  const keys = [];
  if (!data.queues.length) keys.push(["queues over time", 'record.queues_every = "50 us"']);
  if (!data.schedules.length) keys.push(["granted rates and timeslots", "record.grants = true"]);
  if (!keys.length) return;
  const parts = keys.flatMap(([what, key], i) => [i ? "; " : "Not in here: ", `${what} (`, make("code", {}, key), " records them)"]);
  document.getElementById("charts").append(make("p", { class: "about", id: "more" }, ...parts, "."));
}

const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

async function show() {
  themeButton(() => timeplane.charts);
  const reason = cannotUnpack();
  if (reason) {
    state.textContent = reason;
    return;
  }
  try {
    const about = "Over all measured flows; unfinished flows count as never completed. Bands: 95 % intervals of the mean over seeds.";
    timeplane.charts.picture = picture(document.getElementById("picture"), data);
    await distributions("fct", "Flow completion time", about);
    await distributions("cct", "Coflow completion time", about.replace("flows", "coflows"));
    await slowdown();
    await queues();
    await schedules();
    await links();
    await drops();
    more();
    // All charts are drawn and on the screen.
    await frame();
    timeplane.ready = performance.now();
    state.hidden = true;
  } catch (error) {
    // Show the error in the page, and rethrow it for the console.
    state.textContent = `The charts' data cannot be read (${error.message}). The file was changed or truncated: copy it again, or make it again with the command at its end.`;
    console.error(error);
  }
}

show();
