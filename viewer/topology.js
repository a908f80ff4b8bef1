// Nodes and wires in layers with hosts at the bottom. Width and shade of a wire show the load of
// its busier direction.

import { onTheme, ramp } from "./colors.js";
import { bytes, percent } from "./format.js";
import { make } from "./table.js";

const SPACE = "http://www.w3.org/2000/svg";
const LAYER = 110;
/** The width if the picture is not shown yet. */
const UNKNOWN = 1000;
/** Pixels of a label's character. */
const CHARACTER = 8;
/** Every label, or every second one and so on, until they fit. */
const STEPS = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512];

const draw = (tag, attributes, ...children) => {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/** Distance of each node from the hosts in wires; `near` lists the neighbors of each node. */
function layers(near, nodes, hosts) {
  const layer = new Array(nodes).fill(-1);
  let edge = [];
  for (let host = 0; host < hosts; host += 1) {
    layer[host] = 0;
    edge.push(host);
  }
  for (let depth = 1; edge.length; depth += 1) {
    const next = [];
    for (const node of edge) {
      for (const other of near[node]) {
        if (layer[other] < 0) {
          layer[other] = depth;
          next.push(other);
        }
      }
    }
    edge = next;
  }
  return layer.map((l) => Math.max(l, 0));
}

/**
 * Positions of nodes on `wide` pixels: hosts in order, switches above the middle of their lower
 * neighbors. `place` numbers the nodes of a layer, `apart` is their distance.
 */
function places(wires, nodes, hosts, wide) {
  const near = Array.from({ length: nodes }, () => []);
  for (const { a, b } of wires) {
    near[a].push(b);
    near[b].push(a);
  }
  const layer = layers(near, nodes, hosts);
  const depth = Math.max(...layer, 0);
  const [x, place, apart] = [0, 0, wide].map((value) => new Array(nodes).fill(value));
  for (let l = 0; l <= depth; l += 1) {
    const here = layer.map((of, node) => [of, node]).filter(([of]) => of === l).map(([, node]) => node);
    const below = (node) => {
      const all = near[node].filter((n) => layer[n] < l);
      return all.length ? all.reduce((sum, n) => sum + x[n], 0) / all.length : node;
    };
    if (l > 0) {
      const at = new Map(here.map((node) => [node, below(node)]));
      here.sort((m, n) => at.get(m) - at.get(n) || m - n);
    }
    here.forEach((node, i) => {
      apart[node] = wide / here.length;
      x[node] = (i + 0.5) * apart[node];
      place[node] = i;
    });
  }
  return { x, layer, depth, place, apart };
}

/**
 * The kind of a node and its number among these: hosts, then switches. Where there are racks under
 * rotor switches, they are the first switches.
 */
const kindOf = (node, { hosts, racks }) => {
  if (node < hosts) return ["host", node];
  if (!racks) return ["switch", node - hosts];
  return node < hosts + racks ? ["rack", node - hosts] : ["rotor switch", node - hosts - racks];
};
const LETTERS = { host: "h", switch: "s", rack: "r", "rotor switch": "s" };

/** Name of a node in a network (`hosts` and `racks`). */
export const nodeName = (node, network) => kindOf(node, network).join(" ");

/** A letter for its kind, and its number. */
export const nodeLabel = (node, network) => {
  const [kind, number] = kindOf(node, network);
  return `${LETTERS[kind]}${number}`;
};

export class Topology {
  constructor(place) {
    this.picture = make("div", { class: "topology scroll", tabindex: 0 });
    this.scale = make("p", { class: "legend" });
    this.status = make("p", { class: "status", role: "status" }, "Point at a wire or a node, or move with Tab, to read its traffic.");
    place.append(this.scale, this.picture, this.status);
    onTheme(() => this.links && this.draw(), this.picture);
    const resized = new ResizeObserver(() => this.links && this.picture.clientWidth !== this.wide && this.draw());
    resized.observe(this.picture);
  }

  /**
   * Show `links` (columns by name) of a network with `hosts` and `racks`, in a run that took
   * `spanPs`.
   */
  update(links, { hosts, racks }, spanPs) {
    Object.assign(this, { links, hosts, racks, spanPs });
    this.draw();
  }

  draw() {
    const { links, hosts, racks, spanPs } = this;
    const pairs = new Map();
    let nodes = hosts;
    for (let i = 0; i < links.from.length; i += 1) {
      const [from, to] = [links.from[i], links.to[i]];
      nodes = Math.max(nodes, from + 1, to + 1);
      const key = from < to ? `${from} ${to}` : `${to} ${from}`;
      if (!pairs.has(key)) pairs.set(key, { a: Math.min(from, to), b: Math.max(from, to), links: [] });
      pairs.get(key).links.push(i);
    }
    const wires = [...pairs.values()];
    this.wide = this.picture.clientWidth;
    const wide = this.wide || UNKNOWN;
    const { x, layer, depth, place, apart } = places(wires, nodes, hosts, wide);
    const high = (depth + 1) * LAYER;
    const y = (node) => high - (layer[node] + 0.5) * LAYER;
    const load = (i) => links.busy_ps[i] / spanPs;
    const name = (node) => nodeName(node, { hosts, racks });
    const listen = (element, text) => {
      element.setAttribute("aria-label", text);
      for (const event of ["pointerenter", "focus"]) element.addEventListener(event, () => (this.status.textContent = text));
      return element;
    };
    // Tab skips wires if there are hundreds; the table lists them.
    const stop = wires.length <= 150 ? { tabindex: 0 } : {};
    const lines = wires.map((wire) => {
      const most = Math.max(...wire.links.map(load));
      const one = (i) => `${name(links.from[i])} to ${name(links.to[i])}: busy ${percent(load(i))}, ${bytes(links.sent_bytes[i])}, longest queue ${bytes(links.max_queue_bytes[i])}`;
      const ends = { x1: x[wire.a], y1: y(wire.a), x2: x[wire.b], y2: y(wire.b) };
      const thick = Math.min(1 + 7 * most, 8) * (wires.length > 200 ? 0.5 : 1);
      const line = draw("line", { ...ends, stroke: `rgb(${ramp(0.12 + 0.88 * Math.min(most, 1)).join(",")})`, "stroke-width": thick });
      // A wider target for the pointer.
      const target = draw("line", { ...ends, class: "wire", stroke: "transparent", "stroke-width": 12, role: "img", ...stop });
      return draw("g", {}, line, listen(target, wire.links.map(one).join(". ")));
    });
    const out = new Float64Array(nodes);
    links.from.forEach((from, i) => (out[from] += links.sent_bytes[i]));
    const label = (node) => (node < hosts ? String(node) : nodeLabel(node, { hosts, racks }));
    // The last node of its kind has the longest label.
    const last = (node) => (node < hosts ? hosts : node < hosts + racks ? hosts + racks : nodes) - 1;
    const longest = (node) => (label(last(node)).length + 1) * CHARACTER;
    const step = (node) => STEPS.find((s) => s * apart[node] >= longest(node)) ?? Infinity;
    const marks = Array.from({ length: nodes }, (_, node) => {
      const size = Math.max(Math.min(node < hosts ? 9 : 12, 0.42 * apart[node]), 1.5);
      const shape = node < hosts
        ? draw("circle", { cx: x[node], cy: y(node), r: size })
        : draw("rect", { x: x[node] - size, y: y(node) - size, width: 2 * size, height: 2 * size });
      shape.setAttribute("class", "node");
      const group = draw("g", {}, listen(shape, `${name(node)} sent ${bytes(out[node])}`));
      if (place[node] % step(node) === 0) {
        const below = node < hosts ? size + 18 : -size - 8;
        group.append(draw("text", { x: x[node], y: y(node) + below, "text-anchor": "middle" }, label(node)));
      }
      return group;
    });
    const picture = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "group", "aria-label": "Topology with the load of its links" }, ...lines, ...marks);
    this.picture.replaceChildren(picture);
    const patch = (share) => {
      const one = make("span", { class: "patch" });
      one.style.background = `rgb(${ramp(0.12 + 0.88 * share).join(",")})`;
      return make("span", { class: "key" }, one, ` ${percent(share)}`);
    };
    this.scale.replaceChildren("Busy share of the run in the busier direction: ", ...[0, 0.25, 0.5, 0.75, 1].map(patch));
  }
}
