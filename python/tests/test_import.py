"""Files of other simulators become scenarios that run, and what they lose is said."""

import random
import re
import tomllib
from pathlib import Path

import pytest

import timeplane as tp
from timeplane import importers
from timeplane.__main__ import main
from timeplane.importers import FormatError, Network, Wire
from timeplane.importers._topology import fabric, recognize

FILES = Path(__file__).parent / "import"
APPS = {"source": "module", "destination": "connectAddress", "start": "tSend", "size": "sendBytes"}


def pattern(says):
    """A text in which dots with a star stand for anything."""
    return re.escape(says).replace(r"\.\*", ".*")


def read(format, flows, **options):
    """Reads example files by name."""
    if "topology" in options:
        options["topology"] = FILES / options["topology"]
    return importers.read(format, FILES / flows, **options)


def of_text(folder, format, text, **options):
    """Reads a text."""
    path = folder / "flows"
    path.write_text(text, encoding="utf-8")
    return importers.read(format, path, **options)


@pytest.mark.parametrize(
    ("given", "hosts", "switches", "kind", "flows", "total", "lost"),
    [
        (("hpcc", "hpcc-flows.txt", {"topology": "hpcc-topology.txt"}), 8, 3, "graph", 5, 190_001, [
            "error rates of links, as shares of their packets: 2 (all 0.01)",
            "lines after the last link of the topology, which the simulator does not read either: 1",
            "priority groups of flows: 5 (3 in 4, 1 in 1)",
            "destination ports of flows: 5 (100 in 4, 101 in 1)",
            "lines after the last flow, which the simulator does not read either: 1",
        ]),
        (("htsim", "ring.cm", {}), 16, 20, "fat_tree", 9, 294_000, [
            "triggers that start no connection: 1",
            "ids of connections: 9",
            "priorities of connections: 1 (2)",
            "failed links: 1",
            "the time to the last acknowledgment before a send_done_trigger, which fires when the receiver has all bytes: 1",
        ]),
        (("htsim", "incast.cm", {"topology": "leaf_spine.topo"}), 12, 5, "leaf_spine", 3, 60_000, [
            "starts with a fraction of a picosecond, which are rounded: 1",
            "ids of connections: 3",
            "priorities of connections: 1 (1)",
        ]),
        (("htsim", "incast.cm", {"topology": "clos.topo"}), 12, 14, "graph", 3, 60_000, [
            "starts with a fraction of a picosecond, which are rounded: 1",
            "ids of connections: 3",
            "priorities of connections: 1 (1)",
            "latencies of switches by tier in ns, half of each of which is in the delay of the links on both sides: 3 (300, 400, 500)",
            "queue sizes of tiers in bytes, which differ or are incomplete: 2 (200000, 100000)",
        ]),
        (("htsim", "opera.htsim", {"rate": "10 Gb/s", "hosts": 6}), 6, 1, "single_switch", 3, 1_960_877, []),
        (("table", "apps.csv", {"rate": "10 Gb/s", "columns": APPS}), 3, 1, "single_switch", 3, 1_068_577, ["columns without a part of a flow: 1 (app)"]),
    ],
)  # fmt: skip
def test_an_example_becomes_a_scenario_that_runs(tmp_path, given, hosts, switches, kind, flows, total, lost):
    format, file, options = given
    imported = read(format, file, **options)
    assert (imported.network.hosts, imported.network.switches, len(imported.flows), imported.bytes) == (hosts, switches, flows, total)
    assert imported.lost == lost
    assert (recognize(imported.network) or ["graph"])[0] == kind
    made = importers.write(imported, tmp_path / "a.toml")
    assert all(path.exists() for path in made)
    text = made[0].read_text(encoding="utf-8")
    unwrapped = text.replace("\n#     ", " ")
    assert all(f"#   {line}\n" in unwrapped for line in [*lost, *imported.assumed])
    assert list(tomllib.loads(text)["fabric"]["topology"]) == [kind]
    assert main(["run", str(made[0]), "--dry-run"]) == 0
    run = tp.Scenario.from_file(made[0]).run(results=None, progress=False).flows.to_polars()
    assert sorted(run.select("source", "destination", "size_bytes").iter_rows()) == sorted(flow[:3] for flow in imported.flows)
    assert run["received_bytes"].sum() == total
    if made[1].suffix == ".csv":
        assert sorted(run["start_ps"]) == sorted(flow.start_ps for flow in imported.flows)
        assert importers.read_flow_list(made[1]) == imported.flows


def test_connections_start_when_their_triggers_fire(tmp_path):
    imported = read("htsim", "ring.cm")
    importers.write(imported, tmp_path / "ring.toml")
    run = tp.Scenario.from_file(tmp_path / "ring.toml").run(results=None, progress=False).flows.to_polars()
    left = {(row["source"], row["destination"], row["size_bytes"]): [] for row in run.iter_rows(named=True)}
    for row in run.sort("start_ps").iter_rows(named=True):
        left[row["source"], row["destination"], row["size_bytes"]].append((row["start_ps"], row["start_ps"] + row["fct_ps"]))
    # Of two connections with the same ends and size, the later one in the file starts later.
    times = [left[flow[:3]].pop(0) for flow in imported.flows]
    assert [flow.after for flow in imported.flows] == [(), (), (), (0,), (1,), (2,), (3,), (), (4, 7)]
    for (start, _), flow in zip(times, imported.flows):
        assert start == flow.start_ps + max((times[other][1] for other in flow.after), default=0)


def test_units_of_hpcc_are_those_of_ns3():
    network = read("hpcc", "hpcc-flows.txt", topology="hpcc-topology.txt").network
    assert {wire[1:] for wire in network.wires} == {(25 * 10**9, 10**6), (100 * 10**9, 5 * 10**5)}


def test_hosts_keep_their_names(tmp_path):
    imported = read("hpcc", "hpcc-flows.txt", topology="hpcc-topology.txt")
    assert imported.names == ["1", "2", "3", "5", "6", "8", "9", "10"]
    assert imported.flows[2][:4] == (7, 0, 40_000, 2_000_010_000_000)
    apps = read("table", "apps.csv", rate="10 Gb/s", columns=APPS)
    assert apps.names == ["Net.host[0]", "Net.host[2]", "Net.host[10]"]
    assert [flow.start_ps for flow in apps.flows] == [10**9, 15 * 10**8, 25 * 10**8]
    importers.write(apps, tmp_path / "apps.toml")
    assert (tmp_path / "apps-hosts.csv").read_text(encoding="utf-8") == "host,name\n0,Net.host[0]\n1,Net.host[2]\n2,Net.host[10]\n"


def test_latencies_of_switches_are_on_every_path():
    network = read("htsim", "incast.cm", topology="clos.topo").network
    delay = {wire.nodes: wire.propagation_ps for wire in network.wires}
    # In one rack, in one pod, and through a core.
    rack = delay[0, 12] + delay[1, 12]
    pod = delay[0, 12] + delay[12, 18] + delay[13, 18] + delay[2, 13]
    core = delay[0, 12] + delay[12, 18] + delay[18, 24] + delay[20, 24] + delay[14, 20] + delay[4, 14]
    assert rack == (2 * 1000 + 300) * 1000
    assert pod == (2 * 1000 + 2 * 2000 + 2 * 300 + 400) * 1000
    assert core == (2 * 1000 + 2 * 2000 + 2 * 5000 + 2 * 300 + 2 * 400 + 500) * 1000


def leaf_spine(leaves, each, spines):
    hosts = leaves * each
    down = [Wire((host, hosts + host // each), 10**10, 10**6) for host in range(hosts)]
    up = [Wire((hosts + leaf, hosts + leaves + spine), 4 * 10**10, 10**6) for leaf in range(leaves) for spine in range(spines)]
    return Network(hosts, leaves + spines, down + up)


def fat_tree(k):
    from timeplane.importers._htsim_topology import fat_tree

    return fat_tree(k, 10**10)


def shuffled(network, seed):
    """The same network with other numbers of switches, and wires in another order and direction."""
    draw = random.Random(seed)
    numbers = list(range(network.hosts, network.hosts + network.switches))
    draw.shuffle(numbers)
    number = lambda node: node if node < network.hosts else numbers[node - network.hosts]
    wires = [wire._replace(nodes=tuple(draw.sample([number(node) for node in wire.nodes], 2))) for wire in network.wires]
    return Network(network.hosts, network.switches, draw.sample(wires, len(wires)))


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (Network(3, 1, [Wire((host, 3), 10**9, 10**6) for host in range(3)]), ("single_switch", {"hosts": 3})),
        (leaf_spine(4, 3, 1), ("tree", {"edges": 4, "hosts_per_edge": 3})),
        (leaf_spine(4, 3, 2), ("leaf_spine", {"leaves": 4, "hosts_per_leaf": 3, "spines": 2})),
        (leaf_spine(4, 1, 6), ("leaf_spine", {"leaves": 4, "hosts_per_leaf": 1, "spines": 6})),
        (fat_tree(4), ("fat_tree", {"k": 4})),
        (fat_tree(6), ("fat_tree", {"k": 6})),
    ],
)
def test_a_regular_network_is_recognized_however_its_switches_are_numbered(network, expected):
    for seed in range(5):
        assert recognize(shuffled(network, seed)) == expected
    values = tomllib.loads("\n".join(fabric(network)))["fabric"]
    assert values["topology"] == {expected[0]: expected[1]}


@pytest.mark.parametrize("network", [leaf_spine(4, 3, 2), fat_tree(4)])
def test_any_other_network_is_a_graph(network):
    links = [place for place, wire in enumerate(network.wires) if min(wire.nodes) >= network.hosts]
    draw = random.Random(1)
    for _ in range(200):
        wires = list(network.wires)
        place, other = draw.sample(links, 2)
        change = draw.randrange(6)
        if change == 0:
            del wires[place]
        elif change == 1:
            wires.append(wires[place])
        elif change == 2:
            wires[place] = wires[place]._replace(rate_bps=10**9)
        elif change == 3:
            wires[0] = wires[0]._replace(propagation_ps=5)
        elif change == 4:
            # Two hosts change their racks, so hosts have other numbers.
            a, b = draw.choice(range(network.hosts)), draw.choice(range(network.hosts))
            if wires[a].nodes[1] == wires[b].nodes[1]:
                continue
            wires[a], wires[b] = wires[a]._replace(nodes=(a, wires[b].nodes[1])), wires[b]._replace(nodes=(b, wires[a].nodes[1]))
        else:
            # Two links exchange an end. Where that gives the same links, it is the same network.
            (a, b), (c, d) = wires[place].nodes, wires[other].nodes
            wires[place], wires[other] = wires[place]._replace(nodes=(a, d)), wires[other]._replace(nodes=(c, b))
            if sorted(wires) == sorted(network.wires) or a in (c, d) or b in (c, d):
                continue
            if recognize(Network(network.hosts, network.switches, wires)):
                # The exchange may be another numbering of the switches above.
                assert len({frozenset(wire.nodes) for wire in wires}) == len(wires)
                continue
        assert recognize(Network(network.hosts, network.switches, wires)) is None


def test_a_graph_is_the_same_network_as_a_built_in_kind(tmp_path):
    imported = read("htsim", "incast.cm", topology="leaf_spine.topo")
    importers.write(imported, tmp_path / "built_in.toml")
    # A slower link that no flow takes keeps the network from being recognized.
    network = imported.network
    wires = [wire._replace(rate_bps=10**9) if wire.nodes[0] == 11 else wire for wire in network.wires]
    imported.network = Network(network.hosts, network.switches, wires, network.switch_latency_ps, network.buffer_bytes)
    importers.write(imported, tmp_path / "graph.toml")
    assert "[fabric.topology.graph]" in (tmp_path / "graph.toml").read_text(encoding="utf-8")
    tables = [tp.Scenario.from_file(tmp_path / f"{name}.toml").run(results=None, progress=False).flows.to_polars() for name in ("built_in", "graph")]
    assert tables[0].select("start_ps", "fct_ps", "ideal_ps").equals(tables[1].select("start_ps", "fct_ps", "ideal_ps"))


@pytest.mark.parametrize("seed", range(20))
def test_flows_come_back_byte_by_byte(tmp_path, seed):
    draw = random.Random(seed)
    hosts = draw.randint(2, 500)
    pairs = [draw.sample(range(hosts), 2) for _ in range(draw.randint(1, 200))]
    starts = sorted(draw.choice([0, draw.randrange(10**3), draw.randrange(10**12)]) for _ in pairs)
    sizes = [draw.choice([1, draw.randrange(1, 10**6), 2**32 - 1]) for _ in pairs]

    (tmp_path / "a.htsim").write_text("\n".join(f"{a} {b} {size} {start}" for (a, b), size, start in zip(pairs, sizes, starts)), encoding="utf-8")
    lines = [f"{a} {b} 3 100 {size} {start // 10**9}.{start % 10**9:09}\n" for (a, b), size, start in zip(pairs, sizes, starts)]
    (tmp_path / "a.txt").write_text("".join([f"{len(lines)} \n", *lines]), encoding="utf-8")
    topology = [f"{hosts + 1} 1 {hosts}\n{hosts}\n", *(f"{host} {hosts} 10Gbps 1us 0\n" for host in range(hosts))]
    (tmp_path / "topology.txt").write_text("".join(topology), encoding="utf-8")

    for format, name, options, back in [
        ("htsim", "a.htsim", {"rate": "10 Gb/s"}, importers.write_htsim_flows),
        ("hpcc", "a.txt", {"topology": tmp_path / "topology.txt"}, importers.write_hpcc_flows),
    ]:
        imported = importers.read(format, tmp_path / name, **options)
        made = importers.write(imported, tmp_path / f"{format}.toml")
        flows = importers.read_flow_list(made[1])
        assert [flow.start_ps for flow in flows] == [1000 * start for start in starts]
        back(flows, tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == (tmp_path / name).read_bytes()


def test_flows_that_a_format_cannot_express_are_refused(tmp_path):
    for back in (importers.write_htsim_flows, importers.write_hpcc_flows):
        with pytest.raises(FormatError, match=r"b: flow 2 is .*: expected a start in whole nanoseconds"):
            back([importers.Flow(0, 1, 5, 1000), importers.Flow(0, 1, 5, 1001)], tmp_path / "b")
    with pytest.raises(FormatError, match="expected flows with a start"):
        importers.write_flow_list(read("htsim", "ring.cm").flows, tmp_path / "b")
    (tmp_path / "b").write_text("start_ps,source,destination,size_bytes,coflow\n1,0,1,5,7\n2,1,0,5,\n", encoding="utf-8")
    flows = importers.read_flow_list(tmp_path / "b")
    assert [flow.coflow for flow in flows] == [7, None]
    importers.write_flow_list(flows, tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_table_may_have_any_columns_and_units(tmp_path):
    columns = {"source": "from", "destination": "to", "start": "t:us", "size": "length:kB", "coflow": "job"}
    imported = of_text(tmp_path, "table", '\ufeffjob;t;from;to;length\r\n3;1.5;4;"2";1\r\n;1 ns;2;0;5 B\r\n', rate="1 Gb/s", columns=columns)
    assert [tuple(flow)[:5] for flow in imported.flows] == [(4, 2, 1000, 1_500_000, 3), (2, 0, 5, 1000, None)]
    assert imported.names is None and imported.network.hosts == 5 and not imported.lost


CM = "Nodes 16\nConnections 2\n"


@pytest.mark.parametrize(
    ("format", "text", "options", "says"),
    [
        ("htsim", CM + "0->1 start 0 size 5\n0->2 start 0 size 0\n", {}, "flows:4: the size in bytes is `0`: expected at least 1: a connection of 0 bytes never ends"),
        ("htsim", CM + "0->1 start 0 size 5\n", {}, "flows:2: `Connections 2`, and there are 1 of them: expected the same number"),
        ("htsim", CM + "0->1 start 0 size 5\n0->16 start 0 size 5\n", {}, "flows:4: host 16 is not there: expected a host, 0 to 15"),
        ("htsim", CM + "0->0 start 0 size 5\n", {}, "flows:3: host 0 sends to itself"),
        ("htsim", CM + "0->1 start 0\n", {}, "flows:3: the connection has no `size`"),
        ("htsim", CM + "0->1 size 7\n", {}, "flows:3: the connection has both `start` and `trigger`, or neither"),
        ("htsim", CM + "0->1 start x size 7\n", {}, "flows:3: the start in picoseconds is `x`: expected a number that is not negative"),
        ("htsim", CM + "0->1 start 9e99 size 7\n", {}, "flows:3: the start in picoseconds is `9e99`"),
        ("htsim", CM + "0->1 start 9e18 size 7\n", {}, "flows:3: the start is 9e+06 s: expected at most 53 days"),
        ("htsim", CM + "0->1 start 0 size 7 sise 8\n", {}, "flows:3: `sise`: expected each once: id, start, size"),
        ("htsim", CM + "0->1 start 0 size 7 addon\n", {}, "`addon` gives the connection more bytes"),
        ("htsim", CM + "0->1 start 0 size 7 id 3\n1->2 start 0 size 7 id 3\n", {}, "flows:4: id 3 is also that of line 3"),
        ("htsim", "Nodes 16\nTiers 3\n", {}, "flows:2: `Tiers`: expected a connection `A->B`, .*; a topology goes to --topology"),
        ("htsim", "Nodes 20\nConnections 1\n0->1 start 0 size 7\n", {}, "flows:1: `Nodes 20`, and no `--topology`: expected as many as a fat tree has, such as 16 or 54"),
        ("htsim", "Nodes 20\nConnections 1\n0->1 start 0 size 7\n", {"topology": FILES / "clos.topo"}, "flows:1: `Nodes 20`: expected 12, as .*clos.topo has them"),
        ("htsim", CM, {"topology": FILES / "clos.topo", "rate": "1 Gb/s"}, "--rate: .*clos.topo has it: expected either"),
        ("htsim", CM + "0->1 start 0 size 7 recv_done_trigger 4\n1->2 trigger 5 size 7\n", {}, "flows:3: trigger 4 is not there"),
        ("htsim", "0 1 5 7 9\n", {}, "flows:1: `0 1 5 7 9` has 5 values: expected four values"),
        ("htsim", "0 1 5 7\n", {}, "flows: no topology: expected the rate of the hosts' links"),
        ("htsim", "0 9 5 7\n", {"rate": "1 Gb/s", "hosts": 9}, "--hosts: the number of hosts is 9: expected 10 to 131,072"),
        ("htsim", "0 9 5 7\n", {"rate": "fast"}, "--rate: the rate is `fast`: expected a number with a unit such as Mbps, Gbps, Gb/s"),
        ("htsim", "\n# nothing\n", {}, "flows: the file is empty"),
        ("hpcc", "1\n1 5 3 100 7 2\n", {}, "flows: no topology: expected its file, as `--topology FILE`"),
        ("hpcc", "2\n1 5 3 100 7 2\n", {"topology": FILES / "hpcc-topology.txt"}, "flows:2: the file ends: expected 2 flows, as the first line says; there are 1"),
        ("hpcc", "1\n1 4 3 100 7 2\n", {"topology": FILES / "hpcc-topology.txt"}, "flows:2: node 4 is a switch: expected one of its 8 hosts"),
        ("hpcc", "1\n1 99 3 100 7 2\n", {"topology": FILES / "hpcc-topology.txt"}, "flows:2: node 99 is not in the topology"),
        ("table", "source,destination,start,size\n0,1,2m,5\n", {"rate": "1 Gb/s"}, "flows:2: the start is `2m`: expected a number with a unit such as ns, us, ms, s, or a number alone in s"),
        ("table", "source,destination,start,size\n0,1,2,0.5\n", {"rate": "1 Gb/s"}, "flows:2: the size is `0.5`: expected whole bytes"),
        ("table", "source,destination,start,size\n0,,2,5\n", {"rate": "1 Gb/s"}, "flows:2: the destination is empty: expected a host"),
        ("table", "source,destination,start,size\na,a,2,5\n", {"rate": "1 Gb/s"}, "flows:2: host `a` sends to itself"),
        ("table", "source,destination,start,size\n0,1,2\n", {"rate": "1 Gb/s"}, "flows:2: 3 cells: expected 4, as the header has"),
        ("table", "src,destination,start,size\n0,1,2,5\n", {"rate": "1 Gb/s"}, "flows:1: no column `source` for the source: expected one of `src`, .* `--columns source=NAME`"),
        ("table", "source,destination,start,size\n0,1,2,5\n", {"rate": "1 Gb/s", "columns": {"sources": "a"}}, "--columns: `sources`: expected one of start, source"),
        ("table", (FILES / "scalars.csv").read_text(encoding="utf-8"), {"rate": "1 Gb/s"}, "flows:1: results that opp_scavetool exported, without destinations"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused_with_its_line(tmp_path, format, text, options, says):
    with pytest.raises(FormatError, match=pattern(says)):
        of_text(tmp_path, format, text, **options)


TRIGGERS = "Nodes 16\nConnections 3\nTriggers 1\n0->1 start 0 size 5{0}\n1->2 start 0 size 5{1}\n{2} trigger 1 size 5 id 1{3}\ntrigger id 1 {4}\n"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ((" send_done_trigger 1", " send_done_trigger 1", "1->3", "", "oneshot"), "flows:7: trigger 1 is fired by 2 connections and starts 1: expected one connection"),
        (("", "", "1->3", "", "oneshot"), "flows:7: trigger 1 is fired by 0 connections"),
        ((" send_done_trigger 1", " send_done_trigger 1", "1->3", "", "multishot"), "in an order that only a run shows"),
        ((" send_done_trigger 1", "", "1->3", "", "barrier count 2"), "with a count of 2: expected a count equal"),
        ((" send_done_trigger 1", "", "1->3", "", "barrier"), "flows:7: `trigger id 1 barrier`: expected `trigger id N` and one of"),
        ((" send_done_trigger 1", "", "4->3", "", "oneshot"), r"flows:6: host 4 sends when 0->1 (line 4) is done, of which it does not know"),
        (("", "", "4->3", " send_done_trigger 1", "oneshot"), "flows:6: this and 0 other connections wait for each other"),
    ],
)
def test_triggers_of_which_only_a_run_shows_what_they_start_are_refused(tmp_path, parts, says):
    with pytest.raises(FormatError, match=pattern(says)):
        of_text(tmp_path, "htsim", TRIGGERS.format(*parts))


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("hpcc-topology.txt", "11 3 10", "11 3 11", "topology:13: a node is `Nodes,`"),
        ("hpcc-topology.txt", "11 3 10", "11 8 1 3 10 H100", "topology:1: the first line has 6 values: expected three"),
        ("hpcc-topology.txt", "0 2 25Gbps", "1 2 25Gbps", "topology:4: host 1 has a second link, after that of line 3: expected one link per host"),
        ("hpcc-topology.txt", "0 1 25Gbps", "0 1 25Gigs", "topology:3: a rate is `25Gigs`: expected a number with a unit"),
        ("hpcc-topology.txt", "0 4 7", "0 4 4", "topology:2: switch 4 twice"),
        ("clos.topo", "Radix_Down 6", "Radix_Down 5", "topology:24: `radix_down` of tier 2 is 5: expected 6, for 3 pods below"),
        ("clos.topo", "Oversubscribed 2", "Oversubscribed 3", "`Oversubscribed 3` with 200 Gb/s down and 100 Gb/s up: expected the ratio of both"),
        ("clos.topo", "Podsize 4", "Podsize 5", "topology: 12 nodes in pods of 5"),
        ("clos.topo", "Bundle 2", "Bundel 2", "topology:25: `Bundel`: expected one of downlink_speed_gbps"),
        ("clos.topo", "Radix_Up 2\nQueue", "Radix_Up 2000000\nQueue", "topology: 24,000,012 links: expected at most 1,048,576"),
        ("clos.topo", "Tier 2", "Tier 1", "tier 1 is also at line"),
        ("clos.topo", "Downlink_latency_ns 5000", "", "topology:22: tier 2 has no `downlink_latency_ns`"),
    ],
)
def test_a_wrong_topology_is_refused_with_its_line(tmp_path, file, old, new, says):
    text = (FILES / file).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "topology").write_text(text.replace(old, new, 1), encoding="utf-8")
    format, flows = ("hpcc", "hpcc-flows.txt") if file.startswith("hpcc") else ("htsim", "incast.cm")
    with pytest.raises(FormatError, match=pattern(says)):
        importers.read(format, FILES / flows, topology=tmp_path / "topology")


@pytest.mark.parametrize("seed", range(3))
def test_changed_files_are_read_or_refused_and_nothing_else(tmp_path, seed):
    draw = random.Random(seed)
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(FILES.iterdir())}
    cases = [
        ("hpcc", "hpcc-flows.txt", "hpcc-topology.txt", {}), ("htsim", "ring.cm", None, {}), ("htsim", "incast.cm", "leaf_spine.topo", {}),
        ("htsim", "incast.cm", "clos.topo", {}), ("htsim", "opera.htsim", None, {"rate": "1 Gb/s"}), ("table", "apps.csv", None, {"rate": "1 Gb/s", "columns": APPS}),
    ]  # fmt: skip
    words = ["0", "1", "-1", "2", "16", "99999999999999999999", "1e400", "nan", "0.5", "->", "start", "trigger", "#", "ä²", "Tier", '"', ",", "\x0b", "\0", "\u2028"]
    said = []
    for _ in range(200):
        format, flows, topology, options = draw.choice(cases)
        for name in filter(None, (flows, topology)):
            parts = texts[name].replace("\n", " \n ").split(" ")
            for _ in range(draw.randint(0, 3)):
                place = draw.randrange(len(parts))
                parts[place : place + draw.randint(0, 2)] = draw.choice([[], [draw.choice(words)], [draw.choice(parts)], ["\n"]])
            (tmp_path / name).write_text(" ".join(parts).replace(" \n ", "\n"), encoding="utf-8")
        try:
            importers.read(format, tmp_path / flows, **({"topology": tmp_path / topology} if topology else {}), **options)
        except FormatError as error:
            said.append(str(error))
    assert all(": expected " in text and text.isprintable() for text in said)
    assert 50 < len(said) < 195


def test_the_command_says_what_it_loses_and_never_replaces_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["import", "htsim", str(FILES / "incast.cm"), "--topology", str(FILES / "leaf_spine.topo")]
    assert main(command) == 0
    said = capsys.readouterr()
    assert said.out == "incast.toml: 3 flows, 60,000 B; 12 hosts, 5 switches (leaf_spine)\nincast-flows.csv\n"
    assert said.err.splitlines()[1] == "not carried over: ids of connections: 3"
    assert main(command) == 2
    assert capsys.readouterr().err == "error: incast.toml: the file exists: expected another name, or --force to replace it\n"
    assert main([*command, "--force"]) == 0
    assert main(["import", "htsim", str(FILES / "opera.htsim"), "--rate", "10 Gb/s"]) == 0
    capsys.readouterr()
    for arguments, code, says in [
        (["htsim", "missing.cm"], 1, "error: [Errno 2] No such file or directory: 'missing.cm'"),
        (["hpcc", "x", "--rate", "1 Gb/s"], 2, "`rate` is for htsim and table, not for hpcc"),
        (["table", "x", "--columns", "source"], 2, "`source`: expected PART=COLUMN, as source=src"),
        (["ns3", "x"], 2, "'ns3'"),
        (["htsim", str(FILES / "scalars.csv")], 2, "scalars.csv:1:"),
    ]:
        assert main(["import", *arguments]) == code
        assert says in capsys.readouterr().err
    with pytest.raises(ValueError, match="`columns` is for table, not for htsim"):
        read("htsim", "ring.cm", columns={})
    with pytest.raises(ValueError, match="format `ns3`: expected hpcc, htsim, "):
        read("ns3", "ring.cm")


def test_a_network_that_timeplane_refuses_leaves_no_files(tmp_path):
    imported = read("htsim", "opera.htsim", rate="10 Gb/s")
    imported.network = Network(4, 2, [Wire((0, 4), 10**9, 10**6), Wire((1, 4), 10**9, 10**6), Wire((2, 5), 10**9, 10**6), Wire((3, 5), 10**9, 10**6)])
    with pytest.raises(tp.ScenarioError, match="the fabric is disconnected: host"):
        importers.write(imported, tmp_path / "a.toml")
    assert not list(tmp_path.iterdir())
