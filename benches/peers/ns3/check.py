#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes the completion times of a flow list and compares them with peer's.

A small simulation of its own that shares no code with peer.cc and does not use
ns-3. It takes the options of peer that describe the network and the files.
Exit status 0 means that every completion time agrees to the picosecond.

When packets of two flows enter one queue at the same picosecond, either order
is right and the two programs may choose differently. Such ties are counted;
only a list without ties is a strict test.
"""

import argparse
import csv
import heapq
import itertools
import re
import sys

HEADERS = 30  # IPv4 20, UDP 8, PPP 2
MASK = (1 << 64) - 1


def mix64(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def rate(text):
    match = re.fullmatch(r"(\d+)([kMG]?)(?:bps|b/s)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"not a rate: {text}")
    return int(match[1]) * {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}[match[2]]


def path(args, leaves, per_leaf, spines, source, destination, flow):
    """The queues a packet of the flow enters, as (node, next node) pairs."""
    hosts = leaves * per_leaf
    up, down = hosts + source // per_leaf, hosts + destination // per_leaf
    nodes = [source, up]
    if up != down:
        flow_hash = mix64(mix64(source << 32 | destination) ^ flow ^ args.salt) >> 32
        here = (up + 1) * 0x9E3779B97F4A7C15 & MASK
        index = (mix64(flow_hash ^ here) >> 32) * spines >> 32
        nodes += [hosts + leaves + index, down]
    nodes.append(destination)
    return list(itertools.pairwise(nodes))


def simulate(args, flows):
    if args.topology == "leaf-spine":
        leaves, per_leaf, spines = args.leaves, args.hosts_per_leaf, args.spines
    elif args.topology == "tree":
        leaves, per_leaf, spines = args.edges, args.hosts_per_edge, 1
    else:
        leaves, per_leaf, spines = 1, args.hosts, 0
    hosts = leaves * per_leaf
    free, last, ties, hops = {}, {}, 0, 0
    finish = [0] * len(flows)
    # (time a packet enters a queue, order, flow, bytes on the wire, hops made)
    events, order = [], 0
    paths = []
    for flow, (start, source, destination, size) in enumerate(flows):
        paths.append(path(args, leaves, per_leaf, spines, source, destination, flow))
        while size > 0:
            payload = min(size, args.payload)
            events.append((start, order, flow, payload + HEADERS, 0))
            size -= payload
            order += 1
    heapq.heapify(events)
    while events:
        now, _, flow, wire, hop = heapq.heappop(events)
        if hop == len(paths[flow]):
            finish[flow] = max(finish[flow], now)
            continue
        queue = paths[flow][hop]
        before = last.get(queue)
        ties += before is not None and before[0] == now and before[1] != flow
        last[queue] = (now, flow)
        bps = args.host_rate if min(queue) < hosts else args.uplink_rate
        # To the nearest picosecond, as ns-3 does.
        transmission = (2 * wire * 8 * 10**12 + bps) // (2 * bps)
        left = max(now, free.get(queue, 0)) + transmission
        free[queue] = left
        hops += 1
        order += 1
        heapq.heappush(events, (left + args.propagation_ps, order, flow, wire, hop + 1))
    return [done - flow[0] for done, flow in zip(finish, flows)], hops, ties


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topology", choices=("leaf-spine", "tree", "switch"), required=True)
    for name in ("leaves", "hosts-per-leaf", "spines", "edges", "hosts-per-edge", "hosts"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--host-rate", type=rate, default="1Gbps")
    parser.add_argument("--uplink-rate", type=rate, default="10Gbps")
    parser.add_argument("--propagation-ps", type=int, default=1_000_000)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--payload", type=int)
    parser.add_argument("--salt", type=int, default=0)
    parser.add_argument("--flows", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    if args.payload is None:
        args.payload = args.mtu - HEADERS

    with open(args.flows, newline="") as file:
        columns = ("start_ps", "source", "destination", "size_bytes")
        flows = [tuple(int(row[c]) for c in columns) for row in csv.DictReader(file)]
    with open(args.out, newline="") as file:
        rows = [(int(row["flow"]), int(row["fct_ps"])) for row in csv.DictReader(file)]
    if [flow for flow, _ in rows] != list(range(len(flows))):
        sys.exit("the flows of the two files do not match")

    expected, hops, ties = simulate(args, flows)
    differing = [(flow, got, expected[flow]) for flow, got in rows if got != expected[flow]]
    for flow, got, want in differing[:10]:
        print(f"flow {flow}: {got} ps, recomputed {want} ps")
    print(f"{len(flows)} flows, {hops} packet hops, {ties} ties, {len(differing)} flows differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
