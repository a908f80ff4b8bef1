"""The topology of a network as a scenario writes it: a built-in kind, or a graph.

A network is written as a built-in kind only if both have the same hosts, the same wires with the
same parameters, and hosts with the same numbers. Numbers of switches may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from timeplane.importers._model import Network, Wire


def recognize(network: Network) -> tuple[str, dict[str, int]] | None:
    """Find the built-in kind of a network and its parameters; ``None`` if it needs a graph."""
    hosts, switches = network.hosts, network.switches
    down, up = split(network)
    leaf = {min(wire.nodes): max(wire.nodes) for wire in down}
    if len({wire[1:] for wire in down}) > 1 or len({wire[1:] for wire in up}) > 1 or len({w.propagation_ps for w in network.wires}) > 1:
        return None
    if len(leaf) < hosts or any(node < hosts for node in leaf.values()):
        return None
    if switches == 1:
        return "single_switch", {"hosts": hosts}
    leaves = list(dict.fromkeys(leaf[host] for host in range(hosts)))
    each = hosts // len(leaves)
    if any(leaf[host] != leaves[min(host // each, len(leaves) - 1)] for host in range(hosts)) or each * len(leaves) != hosts:
        return None
    near: dict[int, set[int]] = {node: set() for node in range(hosts, hosts + switches)}
    for wire in up:
        a, b = wire.nodes
        if b in near[a]:
            return None
        near[a].add(b)
        near[b].add(a)
    others = set(near) - set(leaves)
    if others and all(near[node] == others for node in leaves) and all(near[node] == set(leaves) for node in others):
        if len(others) == 1:
            return "tree", {"edges": len(leaves), "hosts_per_edge": each}
        return "leaf_spine", {"leaves": len(leaves), "hosts_per_leaf": each, "spines": len(others)}
    return ("fat_tree", {"k": 2 * each}) if _is_fat_tree(leaves, each, near) else None


def _is_fat_tree(edges: Sequence[int], half: int, near: dict[int, set[int]]) -> bool:
    """Whether switches are wired as in the fat tree with ``2 * half`` ports each."""
    if len(edges) != 2 * half * half or len(near) != 5 * half * half:
        return False
    pods = [near[edges[first]] for first in range(0, len(edges), half)]
    alike = all(near[edge] == pods[place // half] for place, edge in enumerate(edges))
    aggregations = set().union(*pods)
    if not alike or len(aggregations) != 2 * half * half or any(len(pod) != half for pod in pods) or aggregations & set(edges):
        return False
    cores = set(near) - aggregations - set(edges)
    # Each group of aggregation switches, one per pod, has its own cores.
    groups = Counter(frozenset(near[aggregation] & cores) for pod in pods for aggregation in pod)
    if any(len(near[aggregation]) != 2 * half for aggregation in aggregations) or len(groups) != half or sum(map(len, groups)) != half * half:
        return False
    apart = all(len({frozenset(near[aggregation] & cores) for aggregation in pod}) == half for pod in pods)
    return apart and all(near[core] <= aggregations and len(near[core]) == 2 * half for core in cores)


def split(network: Network) -> tuple[list[Wire], list[Wire]]:
    """The wires that have a host, and those between switches."""
    down = [wire for wire in network.wires if min(wire.nodes) < network.hosts]
    return down, [wire for wire in network.wires if min(wire.nodes) >= network.hosts]


def fabric(network: Network) -> list[str]:
    """The table `[fabric]` of a scenario, as lines."""
    kind = recognize(network)
    down, up = split(network)
    usual, between = _usual(down), _usual(up or down)
    made = ["[fabric]"]
    if kind:
        parameters = ", ".join(f"{key} = {value}" for key, value in kind[1].items())
        made.append(f"topology.{kind[0]} = {{ {parameters} }}")
    made.append(f'rate = "{rate(usual.rate_bps)}"')
    if up and between.rate_bps != usual.rate_bps:
        made.append(f'uplink_rate = "{rate(between.rate_bps)}"')
    made.append(f'propagation = "{duration(usual.propagation_ps)}"')
    if network.switch_latency_ps:
        made.append(f'switch.latency = "{duration(network.switch_latency_ps)}"')
    if network.buffer_bytes is not None:
        made.append(f'switch.buffer.per_port = "{network.buffer_bytes} B"')
    if not kind:
        made += ["", "[fabric.topology.graph]", f"hosts = {network.hosts}", f"switches = {network.switches}", "links = ["]
        for wire in network.wires:
            expected = usual.rate_bps if min(wire.nodes) < network.hosts else between.rate_bps
            given = f"    {{ nodes = [{wire.nodes[0]}, {wire.nodes[1]}]"
            if wire.rate_bps != expected:
                given += f', rate = "{rate(wire.rate_bps)}"'
            if wire.propagation_ps != usual.propagation_ps:
                given += f', propagation = "{duration(wire.propagation_ps)}"'
            made.append(given + " },")
        made.append("]")
    return made


def _usual(wires: Sequence[Wire]) -> Wire:
    rates, delays = Counter(w.rate_bps for w in wires), Counter(w.propagation_ps for w in wires)
    return Wire((0, 0), rates.most_common(1)[0][0], delays.most_common(1)[0][0])


def _largest(value: int, units: Sequence[tuple[str, int]]) -> str:
    unit, factor = next((u, f) for u, f in units if value % f == 0)
    return f"{value // factor} {unit}"


def rate(bps: int) -> str:
    """A rate in the largest unit that keeps it whole."""
    return _largest(bps, [("Gb/s", 10**9), ("Mb/s", 10**6), ("kb/s", 10**3), ("b/s", 1)])


def duration(ps: int) -> str:
    """A time in the largest unit that keeps it whole."""
    return _largest(ps, [("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1)]) if ps else "0 ps"
