"""Input files of the ns-3 simulator of HPCC (alibaba-edu/High-Precision-Congestion-Control).

A topology is `nodes switches links`, the numbers of the switches, and for each link
`source destination rate delay error_rate`. A flow file is the number of flows, and for each flow
`source destination priority_group port bytes start_s`. The simulator reads them as words, up to the
counted number of links or flows; `simulation/mix/*.txt` and `traffic_gen/README.md` describe them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from timeplane.importers._model import Flow, Imported, Losses, Network, Wire, picoseconds
from timeplane.importers._options import Options
from timeplane.importers._text import MOST_HOSTS, RATE, TIME, Place, Words, read_text, shown

ABOUT = "flow and topology files of HPCC's ns-3 simulator"
TAKES = ("topology",)


def read(flows: Path, options: Options) -> Imported:
    """Read a flow file and its topology.

    Raises :class:`FormatError` for hosts with several links, sizes of 0, and files that end early.
    """
    if options.topology is None:
        raise Place(flows).error("no topology", "its file, as `--topology FILE`")
    losses = Losses()
    network, numbers = _topology(options.topology, losses)
    read = _flows(flows, numbers, network.hosts + network.switches, losses)
    names = None if all(name == host for name, host in numbers.items()) else [str(name) for name in numbers]
    return Imported("HPCC's ns-3 simulator", network, read, losses.lines(), names=names)


def _topology(path: Path, losses: Losses) -> tuple[Network, dict[int, int]]:
    """Read a topology, and the host of each node that is one."""
    text = read_text(path)
    first = next(((Place(path, n), line.split()) for n, line in enumerate(text.split("\n"), 1) if line.split()), None)
    if first and len(first[1]) != 3:
        raise first[0].error(f"the first line has {len(first[1])} values", "three: the numbers of nodes, switches and links")
    words = Words(path, text)
    place, header = words.take(3, "the numbers of nodes, switches and links")
    nodes = place.whole(header[0], "the number of nodes", 2, 2 * MOST_HOSTS)
    count = place.whole(header[1], "the number of switches", 0, nodes)
    links = place.whole(header[2], "the number of links", 1, 10**7)
    switches: dict[int, int] = {}
    hosts = nodes - count
    for _ in range(count):
        place, (word,) = words.take(1, f"the numbers of {count:,} switches")
        node = place.whole(word, "a switch", 0, nodes - 1)
        if node in switches:
            raise place.error(f"switch {node} twice", "each switch once")
        switches[node] = hosts + len(switches)
    numbers = {node: host for host, node in enumerate(n for n in range(nodes) if n not in switches)}
    wires: list[Wire] = []
    wired: dict[int, Place] = {}
    damaged = []
    for number in range(links):
        place, link = words.take(5, f"{links:,} links, as the first line says; there are {number:,}")
        ends = [place.whole(word, "a node", 0, nodes - 1) for word in link[:2]]
        if ends[0] == ends[1]:
            raise place.error(f"node {ends[0]} has a link to itself", "two different nodes")
        for node in ends:
            if node in numbers and wired.setdefault(node, place) is not place:
                raise place.error(f"host {node} has a second link, after that of line {wired[node].line}", "one link per host")
        speed = place.quantity(link[2], "a rate", RATE)
        delay = place.quantity(link[3], "a delay", TIME, "s")
        if speed.denominator != 1 or speed < 1 or delay.denominator != 1:
            raise place.error(f"the rate and the delay are `{shown(link[2])}` and `{shown(link[3])}`", "whole bit/s and whole picoseconds")
        if place.number(link[4], "an error rate") > 0:
            damaged.append(link[4])
        a, b = (numbers.get(node, switches.get(node, 0)) for node in ends)
        wires.append(Wire((a, b), int(speed), int(delay)))
    for node in numbers:
        if node not in wired:
            raise Place(path).error(f"host {node} has no link", "one link per host")
    losses.add("error rates of links, as shares of their packets", damaged)
    losses.add("lines after the last link of the topology, which the simulator does not read either", words.rest())
    return Network(hosts, count, wires), numbers


def _flows(path: Path, numbers: dict[int, int], nodes: int, losses: Losses) -> list[Flow]:
    words = Words(path, read_text(path))
    place, (word,) = words.take(1, "the number of flows")
    count = place.whole(word, "the number of flows", 1, 10**9)
    flows, groups, ports = [], [], []
    for number in range(count):
        place, given = words.take(6, f"{count:,} flows, as the first line says; there are {number:,}")
        ends = [place.whole(word, "a host", 0, 2 * MOST_HOSTS) for word in given[:2]]
        for node in ends:
            if node not in numbers:
                raise place.error(f"node {node} is {'not in the topology' if node >= nodes else 'a switch'}", f"one of its {len(numbers):,} hosts")
        if ends[0] == ends[1]:
            raise place.error(f"host {ends[0]} sends to itself", "two different hosts")
        groups.append(place.whole(given[2], "the priority group", 0, 2**32 - 1))
        ports.append(place.whole(given[3], "the port", 0, 2**32 - 1))
        size = place.size(given[4], "the size in bytes")
        start = picoseconds(place, place.number(given[5], "the start in seconds") * 10**12, "the start", losses)
        flows.append(Flow(numbers[ends[0]], numbers[ends[1]], size, start))
    losses.add("priority groups of flows", groups)
    losses.add("destination ports of flows", ports)
    losses.add("lines after the last flow, which the simulator does not read either", words.rest())
    return flows


def write_flows(flows: Sequence[Flow], path: str | os.PathLike[str], *, priority_group: int = 3, port: int = 100) -> None:
    """Write a flow file for HPCC's ns-3 simulator, in the form of its `traffic_gen.py`.

    All flows get the same priority group and port. Flows are written in the order of their starts,
    which the simulator requires. Raises :class:`FormatError` for starts that are not whole
    nanoseconds, for flows that wait for others, and for sizes from 2^32 bytes on.
    """
    # The generator leaves a space behind the number.
    made = [f"{len(flows)} "]
    for number, flow in enumerate(sorted(flows, key=lambda flow: flow.start_ps), 1):
        if flow.start_ps % 1000 or flow.after or flow.size_bytes >= 2**32:
            raise Place(path).error(f"flow {number} is {flow}", "a start in whole nanoseconds, less than 2^32 bytes, and no other flow to wait for")
        seconds, nanoseconds = divmod(flow.start_ps // 1000, 10**9)
        made.append(f"{flow.source} {flow.destination} {priority_group} {port} {flow.size_bytes} {seconds}.{nanoseconds:09}")
    Path(path).write_text("\n".join(made) + "\n", encoding="utf-8")
