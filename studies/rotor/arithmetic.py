"""Results that need no simulator: prices of networks, and what oblivious routings carry.

The price of a network is counted in ports of packet switches for each host, as in appendix A of
Opera (NSDI 2020). Ports towards hosts cost the same everywhere, and are left out.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class Static:
    """A network of packet switches that costs about as much as a rotor network."""

    topology: dict[str, dict[str, int]]
    #: Ports of packet switches for each host.
    price: float


def rotor_price(alpha: float, uplinks: float = 1.0) -> float:
    """Price of a rotor network with ``uplinks`` for each host. A rotor port, with its transceiver,
    costs ``alpha`` ports of packet switches.
    """
    return alpha * uplinks


def clos_price(tiers: int, hosts: int, uplinks: int) -> float:
    """Price of a folded Clos, whose edge switches have these hosts and uplinks: two ports for each
    wire between two tiers.
    """
    return 2 * (tiers - 1) * uplinks / hosts


def expander_price(hosts: int, uplinks: int) -> float:
    """Price of an expander, whose racks have these hosts and uplinks."""
    return uplinks / hosts


def hybrid_price(alpha: float, tiers: int, packets: float) -> float:
    """Price of REACToR's hybrid: a circuit port for each host, and a packet network of ``packets``
    of its rate that is not oversubscribed. Circuit ports cost as much as rotor ports.
    """
    return alpha + 2 * (tiers - 1) * packets


def clos(hosts: int, k: int, alpha: float, tiers: int = 3) -> Static:
    """The folded Clos of switches with ``k`` ports whose price is the nearest to that of a rotor
    network with one uplink for each host: alpha = 2 (T - 1) / F, if it is oversubscribed F : 1.

    Three tiers are a fat tree, and have as many hosts as its switches make. Two are leaves and
    spines; then the number of hosts is a multiple of those of a leaf. Raises ``ValueError`` if the
    hosts do not fit.
    """
    fits = [n for n in range(1, k) if (k * k // 2 * n == hosts if tiers == 3 else hosts % n == 0)]
    if not fits:
        raise ValueError(f"{hosts} hosts: expected the hosts of a folded Clos of {tiers} tiers and {k} ports")
    down = min(fits, key=lambda n: abs(clos_price(tiers, n, k - n) - alpha))
    if tiers == 3:
        return Static({"fat_tree": {"k": k, "hosts_per_edge": down}}, clos_price(tiers, down, k - down))
    shape = {"leaves": hosts // down, "hosts_per_leaf": down, "spines": k - down}
    return Static({"leaf_spine": shape}, clos_price(tiers, down, k - down))


def expander(hosts: int, k: int, alpha: float) -> Static:
    """The expander of racks with ``k`` ports whose price is the nearest: alpha = u / (k - u), if u
    ports are uplinks. The last rack may have fewer hosts.
    """
    # The sum of the uplinks of all racks is even, as a wire has two ends.
    fits = [u for u in range(1, k) if -(-hosts // (k - u)) * u % 2 == 0]
    up = min(fits, key=lambda u: abs(expander_price(k - u, u) - alpha))
    return Static({"expander": {"hosts": hosts, "hosts_per_rack": k - up, "uplinks": up}}, expander_price(k - up, up))


def static_networks(hosts: int, k: int, alpha: float, tiers: int = 3) -> tuple[Static, Static]:
    """The folded Clos and the expander that cost about as much as a rotor network whose racks have
    ``k`` ports, half of them uplinks.
    """
    return clos(hosts, k, alpha, tiers), expander(hosts, k, alpha)


def vlb_permutation(racks: int) -> float:
    """Share of the uplinks' rate that Valiant load balancing carries of a permutation. One of a
    rack's ``racks`` - 1 circuits leads to its destination and carries its packets directly. The
    others are shared by halves with second hops of others. A packet that finds no room on one takes
    a later one.
    """
    return racks / (2 * (racks - 1))


def shale_throughput(side: int, dimensions: int) -> float:
    """Share of the uplinks' rate that Shale carries: 1 / (2 h) for large grids. One of ``side``
    random hops keeps its place, and so costs nothing; so do direct ones.
    """
    return 1 / (2 * dimensions * (1 - 1 / side))


def shale_slices(side: int, dimensions: int) -> tuple[float, int]:
    """Slices that a packet of Shale takes in an empty network: mean and most.

    The schedule has a block of ``side`` - 1 slices for each dimension in turn. A packet arrives at
    a random moment. It takes the circuit of the present slice, or keeps its place in one of ``side``
    cases; then it takes one random step in each of the next dimensions, and one direct step in each.
    The numbers are those of all cases.
    """
    step, cycle = side - 1, dimensions * (side - 1)
    halves, cases, most = 0, 0, 0
    places = list(itertools.product(range(side), repeat=dimensions))
    for begin in range(cycle):
        first = begin // step
        order = [(first + i) % dimensions for i in range(dimensions)]
        for middle in places:
            # How often the first step leads there, of `side` cases.
            weight = {0: 1, begin % step + 1: step}.get(middle[first], 0)
            if not weight:
                continue
            # Where a packet is after its random steps, and when, does not depend on where it goes.
            at = begin
            for d in order:
                if middle[d]:
                    at += (d * step + middle[d] - 1 - at) % cycle
            for to in places:
                if not any(to):
                    continue
                now = at
                for d in order:
                    if off := (to[d] - middle[d]) % side:
                        now += (d * step + off - 1 - now) % cycle
                took = now - begin
                # Half of a slice has passed when the packet arrives.
                halves += weight * (2 * took - 1 if took else 0)
                most, cases = max(most, took), cases + weight
    return halves / 2 / cases, most
