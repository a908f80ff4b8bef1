#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs one list of flows through timeplane, ns-3 and htsim, as datagrams and as TCP.

A table says how much processor time each program needed, and how its completion times compare.
Those of datagrams must be equal to the picosecond; otherwise the exit status is 1. Programs run in
turn, in rounds. A program that is not built is left out. To build them:

    cargo build --release -p timeplane-sim --example peer
    make -C benches/peers/ns3
    make -C benches/peers/htsim HTSIM=FOLDER
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Network:
    """A network, and how each program is told about it."""

    name: str
    ours: str
    ns3: str
    htsim: str


NETWORKS = [
    Network("leaf-spine", "leaf-spine:4x30x3", "--topology leaf-spine --leaves 4 --hosts-per-leaf 30 --spines 3", "4 30 3"),
    Network("tree", "tree:4x10", "--topology tree --edges 4 --hosts-per-edge 10", "4 10 1"),
]


@dataclass
class Peer:
    """A program on a network. The command ends with the list of flows and the file to write."""

    name: str
    command: list[str]
    out: Path
    runs: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> None:
        """Run it once more."""
        self.runs.append(json.loads(call(self.command)))

    def cpu(self) -> list[float]:
        """The processor time of each round, in seconds."""
        return [run["cpu_s"] for run in self.runs]

    def hops(self) -> int:
        """Packet-hops, the same in each round."""
        return self.runs[0]["packet_hops"]

    def completions(self) -> list[int]:
        """Completion times in picoseconds, by flow."""
        return [int(line.split(",")[1]) for line in self.out.read_text().splitlines()[1:]]


def call(command: list[str]) -> str:
    print("+", *command, file=sys.stderr)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def arguments() -> argparse.Namespace:
    """The command line."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flows", type=int, default=20_000, help="flows of each list (20000)")
    parser.add_argument("--repeat", type=int, default=1, help="rounds (1)")
    parser.add_argument("--only", default="", help="only rows whose network and transport have this text, as `tree tcp`")
    parser.add_argument("--ours", type=Path, default=target / "release/examples/peer")
    parser.add_argument("--ns3", type=Path, default=HERE / "ns3/build/peer")
    parser.add_argument("--htsim", type=Path, default=HERE / "htsim/build/peer")
    parser.add_argument("--keep", type=Path, help="keep lists and completion times in this folder")
    args = parser.parse_args()
    if not args.ours.exists():
        parser.error(f"{args.ours} does not exist: the head of this file says how to build it")
    return args


def peers(args: argparse.Namespace, network: Network, transport: str, folder: Path) -> list[Peer]:
    """The programs that are built, timeplane first."""
    flows = str(folder.parent / "flows.csv")
    found = []

    def add(name: str, command: list[str], *files: str) -> None:
        out = folder / f"{name.replace(' ', '-')}.csv"
        found.append(Peer(name, [*command, *(file or str(out) for file in files)], out))

    verb = "tcp" if transport == "tcp" else "run"
    add("timeplane", [str(args.ours), verb, network.ours], flows, "")
    for stack in ["tcp"] if transport == "tcp" else ["ipv4", "device"]:
        if args.ns3.exists():
            options = ["--mtu", "1500", "--payload", "1470", "--stack", stack, "--scheduler", "ns3::PriorityQueueScheduler"]
            add(f"ns-3 {stack}", [str(args.ns3), *network.ns3.split(), *options], "--flows", flows, "--out", "")
    if args.htsim.exists():
        add("htsim", [str(args.htsim), *network.htsim.split(), transport], flows, "")
    return found


def span(values: list[float]) -> str:
    """The range of ratios."""
    least, most = (f"{v:.3g}" for v in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def row(network: Network, transport: str, peer: Peer, ours: Peer) -> str:
    """A peer's line of the table: ratios to timeplane, of each flow's completion time and of the mean."""
    cpu = statistics.median(peer.cpu())
    times = [a / b for a, b in zip(peer.cpu(), ours.cpu())]
    per_hop = [ratio * ours.hops() / peer.hops() for ratio in times]
    theirs, own = peer.completions(), ours.completions()
    fct = sorted(a / b for a, b in zip(theirs, own))
    p99 = fct[min(len(fct) - 1, len(fct) * 99 // 100)]
    cells = [network.name, transport, peer.name, f"{peer.hops():,}", f"{cpu:.3f}", f"{peer.hops() / cpu / 1e6:.3f}"]
    cells += [span(times), span(per_hop), f"{statistics.median(fct):.3f}", f"{p99:.3f}", f"{sum(theirs) / sum(own):.3f}"]
    return f"| {' | '.join(cells)} |"


def difference(peer: Peer, ours: Peer) -> str:
    """How datagrams of two programs differ: empty if they do not."""
    expected, found = peer.completions(), ours.completions()
    differ = [i for i, (a, b) in enumerate(zip(expected, found)) if a != b]
    if differ:
        i = differ[0]
        return f"{len(differ)} completion times differ; first flow {i}: {expected[i]} ps, timeplane {found[i]} ps"
    if (len(expected), peer.hops()) != (len(found), ours.hops()):
        return f"{len(expected)} flows and {peer.hops()} packet-hops, timeplane {len(found)} and {ours.hops()}"
    return ""


def main() -> int:
    args = arguments()
    rows: list[str] = []
    verdicts: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for network in NETWORKS:
            for transport in ("datagrams", "tcp"):
                if args.only not in f"{network.name} {transport}":
                    continue
                folder = (args.keep or Path(temporary)) / network.name / transport
                folder.mkdir(parents=True, exist_ok=True)
                call([str(args.ours), "write", network.ours, str(args.flows), str(folder.parent / "flows.csv")])
                ours, *others = peers(args, network, transport, folder)
                for _ in range(args.repeat):
                    for peer in (ours, *others):
                        peer.run()
                rows += [row(network, transport, peer, ours) for peer in (ours, *others)]
                if transport == "datagrams":
                    verdicts += [(f"{network.name}, {peer.name}", difference(peer, ours)) for peer in others]
    print("| network | transport | program | packet-hops | CPU s | M packet-hops / CPU s", end="")
    print(" | CPU time | per packet-hop | FCT median | FCT p99 | mean FCT |")
    print("|" + " --- |" * 11)
    print("\n".join(rows))
    for where, text in verdicts:
        print(f"{where}: {text or 'completion times are equal to the picosecond'}")
    return 1 if any(text for _, text in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
