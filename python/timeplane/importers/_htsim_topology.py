"""Topologies of htsim (`.topo`): fat trees of two or three tiers, with the keys of each tier.

`FatTreeTopology` of htsim reads these files. Keys may be in any case. Tier 0 are the switches of
racks; `Downlink_speed_Gbps` and `Downlink_latency_ns` are those of the links below a tier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from timeplane.importers._model import Losses, Network, Wire
from timeplane.importers._text import MOST_HOSTS, MOST_LINKS, Place, lines, read_text, shown

_KEYS = (
    "downlink_speed_gbps", "radix_up", "radix_down", "queue_up", "queue_down", "oversubscribed", "bundle", "switch_latency_ns", "downlink_latency_ns",
)  # fmt: skip
_DEFAULTS = {"oversubscribed": 1, "bundle": 1, "switch_latency_ns": 0}


@dataclass
class _Tier:
    place: Place
    number: int
    values: dict[str, int] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def __getitem__(self, key: str) -> int:
        value = self.values.get(key, _DEFAULTS.get(key))
        if value is None:
            raise self.place.error(f"tier {self.number} has no `{key}`", "this key")
        return value

    def place_of(self, key: str) -> Place:
        return self.places.get(key, self.place)


def read(path: Path, losses: Losses) -> Network:
    """Read a topology.

    Raises :class:`FormatError` if numbers of switches and ports do not fit each other. Different
    latencies of switches become part of the links on both sides.
    """
    header: dict[str, int] = {}
    tiers: dict[int, _Tier] = {}
    tier = None
    for place, words in lines(path, read_text(path)):
        key = words[0].lower()
        if len(words) != 2:
            raise place.error(f"`{shown(' '.join(words))}`", "a key and a number")
        if key == "tier":
            number = place.whole(words[1], "the tier", 0, 2)
            if number in tiers:
                raise place.error(f"tier {number} is also at line {tiers[number].place.line}", "each tier once")
            tier = tiers[number] = _Tier(place, number)
        elif tier is None and key in ("nodes", "tiers", "podsize"):
            header[key] = place.whole(words[1], key, 2 if key == "tiers" else 1, 3 if key == "tiers" else MOST_HOSTS)
        elif tier and key in _KEYS:
            if key in tier.values:
                raise place.error(f"`{shown(words[0])}` of tier {tier.number} is also at line {tier.places[key].line}", "each key once")
            tier.values[key] = place.whole(words[1], words[0], 0 if key in ("switch_latency_ns", "downlink_latency_ns") else 1, 10**12)
            tier.places[key] = place
        else:
            raise place.error(f"`{shown(words[0])}`", f"one of {', '.join(_KEYS) if tier else 'nodes, tiers, podsize and tier'}")
    for key in ("nodes", "tiers", "podsize"):
        if key not in header:
            raise Place(path).error(f"no `{key}`", "nodes, tiers and podsize before the first tier")
    for number in range(header["tiers"]):
        if number not in tiers:
            raise Place(path).error(f"no tier {number}", f"tiers 0 to {header['tiers'] - 1}")
    for number in range(header["tiers"], 3):
        if number in tiers:
            raise tiers[number].place.error(f"tier {number} of {header['tiers']}", f"tiers 0 to {header['tiers'] - 1}")
    return _network(path, header["nodes"], header["podsize"], [tiers[n] for n in range(header["tiers"])], losses)


def _network(path: Path, nodes: int, pod_size: int, tiers: list[_Tier], losses: Losses) -> Network:
    top = len(tiers) - 1
    if "bundle" in tiers[0].values and tiers[0]["bundle"] != 1:
        raise tiers[0].place_of("bundle").error(f"a bundle of {tiers[0]['bundle']} links to each host", "one link per host")
    for key in ("radix_up", "queue_up", "oversubscribed"):
        if key in tiers[top].values and (key != "oversubscribed" or tiers[top][key] != 1):
            raise tiers[top].place_of(key).error(f"`{key}` of the highest tier", "nothing above it")
    if nodes % pod_size or pod_size % tiers[0]["radix_down"]:
        raise Place(path).error(
            f"{nodes} nodes in pods of {pod_size} below switches with {tiers[0]['radix_down']} ports down", "each a multiple of the next"
        )
    pods, racks_per_pod = nodes // pod_size, pod_size // tiers[0]["radix_down"]
    if top == 1 and pods != 1:
        raise Place(path).error(f"two tiers with {pods} pods", "one pod: `Podsize` equal to `Nodes`")
    _check_oversubscription(tiers)
    # Each switch of a pod has links to all switches of the next tier in its pod.
    middle = tiers[0]["radix_up"] // tiers[1]["bundle"]
    _check_ports(tiers[1], "radix_down", racks_per_pod * tiers[1]["bundle"], f"{racks_per_pod} switches below")
    if tiers[0]["radix_up"] % tiers[1]["bundle"]:
        raise tiers[0].place_of("radix_up").error(f"{tiers[0]['radix_up']} ports up", f"a multiple of the bundle of tier 1, {tiers[1]['bundle']}")
    racks, aggregations, cores = pods * racks_per_pod, pods * middle, 0
    links = nodes + racks * tiers[0]["radix_up"] + (aggregations * tiers[1]["radix_up"] if top == 2 else 0)
    if links > MOST_LINKS:
        raise Place(path).error(f"{links:,} links", f"at most {MOST_LINKS:,}")
    latency = [tier["switch_latency_ns"] * 1000 for tier in tiers]
    same = len(set(latency)) == 1
    if not same:
        losses.add("latencies of switches by tier in ns, half of each of which is in the delay of the links on both sides", [ps // 1000 for ps in latency])

    def wire(a: int, b: int, tier: int) -> Wire:
        """A link below a switch of ``tier``."""
        delay = tiers[tier]["downlink_latency_ns"] * 1000
        if not same:
            # A packet that passes a switch takes two of its links.
            delay += latency[tier] // 2 + (latency[tier - 1] // 2 if tier else 0)
        return Wire((a, b), tiers[tier]["downlink_speed_gbps"] * 10**9, delay)

    wires = [wire(host, nodes + host // tiers[0]["radix_down"], 0) for host in range(nodes)]
    for rack in range(racks):
        pod = rack // racks_per_pod
        for agg in range(middle):
            wires += [wire(nodes + rack, nodes + racks + pod * middle + agg, 1)] * tiers[1]["bundle"]
    if top == 2:
        bundle = tiers[2]["bundle"]
        if tiers[1]["radix_up"] % bundle:
            raise tiers[1].place_of("radix_up").error(f"{tiers[1]['radix_up']} ports up", f"a multiple of the bundle of tier 2, {bundle}")
        each = tiers[1]["radix_up"] // bundle
        _check_ports(tiers[2], "radix_down", pods * bundle, f"{pods} pods below")
        cores = middle * each
        for agg in range(aggregations):
            for link in range(each):
                wires += [wire(nodes + racks + agg, nodes + racks + aggregations + agg % middle + middle * link, 2)] * bundle
    return Network(nodes, racks + aggregations + cores, wires, latency[0] if same else 0, _buffer(tiers, losses))


def _check_oversubscription(tiers: list[_Tier]) -> None:
    """Compare `Oversubscribed`, which follows from the other keys, with them."""
    for tier, above in pairwise(tiers):
        down, up = (one * each["downlink_speed_gbps"] for one, each in ((tier["radix_down"], tier), (tier["radix_up"], above)))
        if "oversubscribed" in tier.values and down != tier["oversubscribed"] * up:
            found = f"`Oversubscribed {tier['oversubscribed']}` with {down} Gb/s down and {up} Gb/s up"
            raise tier.place_of("oversubscribed").error(found, "the ratio of both")


def _check_ports(tier: _Tier, key: str, needed: int, why: str) -> None:
    if tier[key] != needed:
        raise tier.place_of(key).error(f"`{key}` of tier {tier.number} is {tier[key]}", f"{needed}, for {why}")


def _buffer(tiers: list[_Tier], losses: Losses) -> int | None:
    """The bytes of every queue, if all are given and equal."""
    given = [tier.values[key] for tier in tiers for key in ("queue_down", "queue_up") if key in tier.values]
    if len(given) == 2 * len(tiers) - 1 and len(set(given)) == 1:
        return given[0]
    losses.add("queue sizes of tiers in bytes, which differ or are incomplete", given)
    return None


def fat_tree(k: int, rate_bps: int) -> Network:
    """The k-ary fat tree that htsim builds without a topology, with 1 us per link."""
    half = k // 2
    hosts, racks = k * half * half, k * half
    wires = [Wire((host, hosts + host // half), rate_bps, 10**6) for host in range(hosts)]
    for pod in range(k):
        for one in range(half):
            agg = hosts + racks + pod * half + one
            wires += [Wire((hosts + pod * half + rack, agg), rate_bps, 10**6) for rack in range(half)]
            wires += [Wire((agg, hosts + 2 * racks + one + half * core), rate_bps, 10**6) for core in range(half)]
    return Network(hosts, 2 * racks + half * half, wires)
