"""Input files of htsim (Broadcom/csg-htsim), and flow lists of Opera's simulator, which grew from it.

- A connection matrix (`.cm`) has `Nodes N`, `Connections N`, perhaps `Triggers N` and `Failures N`,
  and lines such as `0->1 id 1 start 0 size 2000000`. A `start` is in picoseconds. A connection with
  `trigger N` instead starts when others with `send_done_trigger N` or `recv_done_trigger N` are
  done.
- A flow list has a line `source destination bytes start_ns` for each flow
  (TritonNetworking/opera-sim).
- A topology is read by :mod:`timeplane.importers._htsim_topology`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from timeplane.importers import _htsim_topology
from timeplane.importers._model import Flow, Imported, Losses, Network, picoseconds
from timeplane.importers._options import Options
from timeplane.importers._text import MOST_HOSTS, Place, lines, read_text, shown

ABOUT = "connection matrices (.cm) with topologies (.topo) of htsim, and flow lists of Opera's simulator"
TAKES = ("topology", "hosts", "rate")

_HEADER = ("Nodes", "Connections", "Triggers", "Failures")
_WITH_VALUE = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
_ENDLESS = "at least 1: a connection of 0 bytes never ends in htsim, which a list of flows cannot express"


def read(flows: Path, options: Options) -> Imported:
    """Read a connection matrix or a flow list; the first line decides which.

    Raises :class:`FormatError` for connections without an end, and for triggers whose connections
    cannot be known before the run.
    """
    text = read_text(flows)
    first = next(lines(flows, text), None)
    if first is None:
        raise Place(flows).error("the file is empty", "a connection matrix or a list of flows")
    for option in ("rate", "hosts"):
        if options.topology and getattr(options, option) is not None:
            raise Place(f"--{option}").error(f"{options.topology} has it", "either this option or --topology")
    return _matrix(flows, text, options) if _is_matrix(first[1]) else _list(flows, text, options)


def _is_matrix(words: Sequence[str]) -> bool:
    return words[0] in _HEADER or "->" in words[0] or words[0] in ("trigger", "failure")


def _list(path: Path, text: str, options: Options) -> Imported:
    """Read a list `source destination bytes start_ns`."""
    losses = Losses()
    flows = []
    for place, words in lines(path, text):
        if len(words) != 4:
            expected = "four values, `source destination bytes start_ns`, or the first line of a connection matrix, `Nodes N`"
            raise place.error(f"`{shown(' '.join(words))}` has {len(words)} values", expected)
        source, destination = (place.whole(word, "a host", 0, MOST_HOSTS - 1) for word in words[:2])
        if source == destination:
            raise place.error(f"host {source} sends to itself", "two different hosts")
        size = place.size(words[2], "the size in bytes")
        start = picoseconds(place, place.number(words[3], "the start in nanoseconds") * 1000, "the start", losses)
        flows.append(Flow(source, destination, size, start))
    used = 1 + max(max(flow[:2]) for flow in flows)
    if options.topology:
        network, assumed = _htsim_topology.read(options.topology, losses), []
        if used > network.hosts:
            raise Place(path).error(f"host {used - 1} has a flow", f"hosts 0 to {network.hosts - 1}, as {options.topology} has them")
    else:
        network, said = options.switch(Place(path), used)
        assumed = [said]
    return Imported("htsim", network, flows, losses.lines(), assumed)


@dataclass
class _Connection:
    place: Place
    source: int
    destination: int
    size: int
    start: int
    #: The trigger that starts it; 0 for none.
    trigger: int
    #: Triggers that it fires when it is done.
    fires: list[int]


@dataclass
class _Trigger:
    place: Place
    kind: str
    count: int
    #: Positions of connections.
    fired_by: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


@dataclass
class _Matrix:
    """A connection matrix while it is read."""

    losses: Losses = field(default_factory=Losses)
    header: dict[str, tuple[Place, int]] = field(default_factory=dict)
    connections: list[_Connection] = field(default_factory=list)
    triggers: dict[int, _Trigger] = field(default_factory=dict)
    failures: int = 0
    ids: dict[int, Place] = field(default_factory=dict)
    priorities: list[int] = field(default_factory=list)
    sender_triggers: int = 0


def _matrix(path: Path, text: str, options: Options) -> Imported:
    if options.hosts is not None:
        raise Place("--hosts").error("a connection matrix has its `Nodes`", "this option for flow lists only")
    made = _Matrix()
    for place, words in lines(path, text):
        _line(made, place, words)
    for key, found in (("Connections", len(made.connections)), ("Triggers", len(made.triggers)), ("Failures", made.failures)):
        place, said = made.header.get(key, (Place(path), 0))
        if said != found:
            raise place.error(f"`{key} {said}`, and there are {found:,} of them", "the same number")
    if "Nodes" not in made.header or not made.connections:
        raise Place(path).error("no connections, or no `Nodes`", "`Nodes N`, `Connections N` and connections")
    place, nodes = made.header["Nodes"]
    for one in made.connections:
        if max(one.source, one.destination) >= nodes:
            raise one.place.error(f"host {max(one.source, one.destination)} is not there", f"a host, 0 to {nodes - 1}")
    after = _dependencies(made)
    flows = [Flow(one.source, one.destination, one.size, one.start, None, after[n]) for n, one in enumerate(made.connections)]
    losses = made.losses
    assumed: list[str] = []
    losses.add("ids of connections", len(made.ids))
    losses.add("priorities of connections", made.priorities)
    losses.add("failed links", made.failures)
    losses.add("the time to the last acknowledgment before a send_done_trigger, which fires when the receiver has all bytes", made.sender_triggers)
    network = _network(place, nodes, options, losses, assumed)
    return Imported("htsim", network, flows, losses.lines(), assumed)


def _network(place: Place, nodes: int, options: Options, losses: Losses, assumed: list[str]) -> Network:
    """The network of a connection matrix: that of its topology, or htsim's own for so many nodes."""
    if options.topology:
        network = _htsim_topology.read(options.topology, losses)
        if network.hosts != nodes:
            raise place.error(f"`Nodes {nodes}`", f"{network.hosts}, as {options.topology} has them")
        return network
    k = next((k for k in range(2, 82, 2) if k**3 // 4 >= nodes), 82)
    if k**3 // 4 != nodes:
        raise place.error(f"`Nodes {nodes}`, and no `--topology`", f"as many as a fat tree has, such as {(k - 2) ** 3 // 4} or {k**3 // 4}, or a topology")
    bps = options.bps(place) if options.rate else 100 * 10**9
    speed = "" if options.rate else "100 Gb/s and "
    assumed.append(f"the fat tree that htsim builds for {nodes:,} nodes without a topology, with {speed}1 us per link")
    return _htsim_topology.fat_tree(k, bps)


def _line(made: _Matrix, place: Place, words: list[str]) -> None:
    key = words[0]
    if "->" in key:
        made.connections.append(_connection(made, place, words))
    elif key in _HEADER:
        if len(words) != 2 or key in made.header:
            raise place.error(f"`{shown(' '.join(words))}`", f"`{key}` once, with one number")
        made.header[key] = place, place.whole(words[1], key, 2 if key == "Nodes" else 0, MOST_HOSTS if key == "Nodes" else 10**9)
    elif key == "trigger":
        _trigger(made, place, words)
    elif key == "failure":
        made.failures += 1
    else:
        expected = "a connection `A->B`, `trigger`, `failure`, `Nodes`, `Connections`, `Triggers` or `Failures`; a topology goes to --topology"
        raise place.error(f"`{shown(key)}`", expected)


def _connection(made: _Matrix, place: Place, words: list[str]) -> _Connection:
    ends = words[0].split("->")
    if len(ends) != 2:
        raise place.error(f"`{shown(words[0])}`", "a source, `->` and a destination, without spaces")
    source, destination = (place.whole(word, "a host", 0, MOST_HOSTS - 1) for word in ends)
    if source == destination:
        raise place.error(f"host {source} sends to itself", "two different hosts")
    given = _values(place, words[1:], _WITH_VALUE, ("addon",))
    if "addon" in given:
        raise place.error("`addon` gives the connection more bytes at each trigger", "a connection with one size")
    if "size" not in given:
        raise place.error("the connection has no `size`", "its bytes")
    size = place.whole(given["size"], "the size in bytes")
    if size == 0:
        raise place.error("the size in bytes is `0`", _ENDLESS)
    size = place.size(given["size"], "the size in bytes")
    if ("start" in given) == ("trigger" in given):
        raise place.error("the connection has both `start` and `trigger`, or neither", "one of them")
    start = picoseconds(place, place.number(given.get("start", "0"), "the start in picoseconds"), "the start", made.losses)
    number = {key: place.whole(given[key], key, key != "prio", 2**32 - 1) for key in _WITH_VALUE if key in given and key not in ("start", "size")}
    if (flow := number.get("id")) is not None:
        if flow in made.ids:
            raise place.error(f"id {flow} is also that of line {made.ids[flow].line}", "an id for each connection")
        made.ids[flow] = place
    if "prio" in number:
        made.priorities.append(number["prio"])
    made.sender_triggers += "send_done_trigger" in number
    fires = [number[key] for key in ("send_done_trigger", "recv_done_trigger") if key in number]
    return _Connection(place, source, destination, size, start, number.get("trigger", 0), fires)


def _values(place: Place, words: Sequence[str], with_value: Sequence[str], alone: Sequence[str]) -> dict[str, str]:
    """Words such as `id 3 oneshot`, by key."""
    given: dict[str, str] = {}
    rest = iter(words)
    for key in rest:
        value = next(rest, None) if key in with_value else ""
        if value is None or key in given or key not in (*with_value, *alone):
            found = f"`{key}` without a value" if value is None else f"`{shown(key)}` twice" if key in given else f"`{shown(key)}`"
            raise place.error(found, f"each once: {', '.join(with_value)}, each with a value{''.join(f', {word}' for word in alone)}")
        given[key] = value
    return given


def _trigger(made: _Matrix, place: Place, words: list[str]) -> None:
    given = _values(place, words[1:], ("id", "count"), ("oneshot", "multishot", "barrier"))
    kind = [word for word in ("oneshot", "multishot", "barrier") if word in given]
    if "id" not in given or len(kind) != 1 or ("count" in given) != (kind == ["barrier"]):
        raise place.error(f"`{shown(' '.join(words))}`", "`trigger id N` and one of `oneshot`, `multishot` or `barrier count N`")
    number = place.whole(given["id"], "id", 1, 2**32 - 1)
    if number in made.triggers:
        raise place.error(f"trigger {number} is also in line {made.triggers[number].place.line}", "each trigger once")
    made.triggers[number] = _Trigger(place, kind[0], place.whole(given.get("count", "1"), "the count", 1))


def _dependencies(made: _Matrix) -> list[tuple[int, ...]]:
    """For each connection the positions of those that it waits for."""
    for number, one in enumerate(made.connections):
        for named in [*one.fires, *([one.trigger] if one.trigger else [])]:
            if named not in made.triggers:
                raise one.place.error(f"trigger {named} is not there", "a line `trigger id N` for each trigger")
        for named in one.fires:
            made.triggers[named].fired_by.append(number)
        if one.trigger:
            made.triggers[one.trigger].starts.append(number)
    for number, trigger in made.triggers.items():
        if trigger.starts:
            _check(number, trigger)
        else:
            made.losses.add("triggers that start no connection")
    after = []
    for one in made.connections:
        before = made.triggers[one.trigger].fired_by if one.trigger else []
        for other in before:
            cause = made.connections[other]
            if one.source not in (cause.source, cause.destination):
                found = f"host {one.source} sends when {cause.source}->{cause.destination} (line {cause.place.line}) is done, of which it does not know"
                raise one.place.error(found, "triggers of connections from or to the sender")
        after.append(tuple(dict.fromkeys(before)))
    _check_cycles(made, after)
    return after


def _check(number: int, trigger: _Trigger) -> None:
    """Refuse triggers that never fire, and those of which only a run shows what starts what."""
    fired, starts = len(trigger.fired_by), len(trigger.starts)
    found = f"trigger {number} is fired by {fired} connections and starts {starts}"
    if trigger.kind == "barrier" and fired != trigger.count:
        raise trigger.place.error(f"{found}, with a count of {trigger.count}", "a count equal to the connections that fire it")
    if trigger.kind == "oneshot" and fired != 1:
        raise trigger.place.error(found, "one connection that fires a `oneshot`")
    if trigger.kind == "multishot" and (fired != 1 or starts != 1):
        raise trigger.place.error(f"{found}, in an order that only a run shows", "one and one for a `multishot`")


def _check_cycles(made: _Matrix, after: Sequence[Sequence[int]]) -> None:
    """Refuse connections that wait for each other, by taking away those that can start."""
    waits = Counter({place: len(others) for place, others in enumerate(after)})
    starts: dict[int, list[int]] = {}
    for place, others in enumerate(after):
        for other in others:
            starts.setdefault(other, []).append(place)
    ready = [place for place, others in enumerate(after) if not others]
    left = set(range(len(after)))
    while ready:
        done = ready.pop()
        left.discard(done)
        for place in starts.get(done, ()):
            waits[place] -= 1
            if not waits[place]:
                ready.append(place)
    if left:
        raise made.connections[min(left)].place.error(f"this and {len(left) - 1} other connections wait for each other", "a connection that can start")


def write_flows(flows: Sequence[Flow], path: str | os.PathLike[str]) -> None:
    """Write a flow list `source destination bytes start_ns`, as Opera's simulator reads it.

    Like the files that come with it, the last line has no end. Raises :class:`FormatError` for
    starts that are not whole nanoseconds, and for flows that wait for others.
    """
    made = []
    for number, flow in enumerate(flows, 1):
        if flow.start_ps % 1000 or flow.after:
            raise Place(path).error(f"flow {number} is {flow}", "a start in whole nanoseconds, and no other flow to wait for")
        made.append(f"{flow.source} {flow.destination} {flow.size_bytes} {flow.start_ps // 1000}")
    Path(path).write_text("\n".join(made), encoding="utf-8")
