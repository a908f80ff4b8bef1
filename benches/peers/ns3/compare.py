#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs one list of flows through timeplane and through ns-3, for two networks.

Every completion time is compared to the picosecond; then one table says what each
engine needed for it. Exit status 0 means that all are equal.

Build both first:

    cargo build --release -p timeplane-sim --example peer
    make -C benches/peers/ns3
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

# Name, the network as timeplane's example takes it, and as ns-3's program does.
NETWORKS = [
    ("leaf-spine", "leaf-spine:4x30x3", "--topology leaf-spine --leaves 4 --hosts-per-leaf 30 --spines 3"),
    ("tree", "tree:4x10", "--topology tree --edges 4 --hosts-per-edge 10"),
]


def call(command):
    print("+", *command, file=sys.stderr)
    return subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def fastest(command, repeat):
    """The run that took the least processor time: what else the machine does only adds to it."""
    runs = [json.loads(call(command)) for _ in range(repeat)]
    return min(runs, key=lambda run: run["cpu_s"])


def completions(path):
    return path.read_text().split()


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flows", type=int, default=20_000, help="flows of each list (20000)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each engine, of which the fastest counts (1)")
    parser.add_argument("--ours", type=pathlib.Path, default=target / "release/examples/peer")
    parser.add_argument("--ns3", type=pathlib.Path, default=HERE / "build/peer")
    parser.add_argument("--keep", type=pathlib.Path, help="keep lists and completion times in this folder")
    args = parser.parse_args()
    for program in (args.ours, args.ns3):
        if not program.exists():
            parser.error(f"{program} is not there: see the head of this file for how to build it")

    failed, rows = False, []
    with tempfile.TemporaryDirectory() as temporary:
        for name, ours, theirs in NETWORKS:
            folder = (args.keep or pathlib.Path(temporary)) / name
            folder.mkdir(parents=True, exist_ok=True)
            flows = folder / "flows.csv"
            call([args.ours, "write", ours, args.flows, flows])
            own = folder / "timeplane.csv"
            results = [("timeplane", fastest([args.ours, "run", ours, flows, own], args.repeat))]
            for stack in ("ipv4", "device"):
                out = folder / f"ns3-{stack}.csv"
                options = ["--mtu", 1500, "--payload", 1470, "--stack", stack]
                options += ["--scheduler", "ns3::PriorityQueueScheduler", "--flows", flows, "--out", out]
                run = fastest([args.ns3, *theirs.split(), *options], args.repeat)
                results.append((f"{run['engine']}, {stack}", run))
                expected, found = completions(out), completions(own)
                differ = [i for i, (a, b) in enumerate(zip(expected, found)) if a != b]
                if differ or len(expected) != len(found):
                    failed = True
                    print(f"{name}: {len(differ)} flows differ; first ns-3 {expected[differ[0]]}, timeplane {found[differ[0]]}"
                          if differ else f"{name}: {len(expected) - 1} flows against {len(found) - 1}")
            if len({run["packet_hops"] for _, run in results}) != 1:
                failed = True
                print(f"{name}: packet hops differ: {[run['packet_hops'] for _, run in results]}")
            fast = results[0][1]["packet_hops_per_cpu_s"]
            rows += [(name, engine, run, fast / run["packet_hops_per_cpu_s"]) for engine, run in results]

    print("| network | engine | packet hops | CPU s | M packet hops / CPU s | timeplane is faster by |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, engine, run, ratio in rows:
        speed = run["packet_hops_per_cpu_s"] / 1e6
        print(f"| {name} | {engine} | {run['packet_hops']:,} | {run['cpu_s']:.3f} | {speed:.3f} | {ratio:.0f} |")
    print("completion times differ" if failed else f"all {args.flows} completion times of each network are equal to the picosecond")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
