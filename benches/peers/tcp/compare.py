#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks TCP of the kernel, of ns-3 and of the simulator the same questions, and prints the ratios.

README.md beside this file says how to build them. A peer that is missing is left out. Values are
medians of the repetitions. A ratio is the simulator's value over the peer's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

from kernel import Kernel
from ns3 import Ns3
from questions import questions
from simulator import Simulator

ROOT = Path(__file__).resolve().parents[3]
PRESETS = ["linux", "rfc"]
#: Ratios that are further from 1 are bold.
TOLERANCE = 0.15


def value(values: list[float]) -> str:
    """The median, and the range if values differ."""
    texts = [f"{v:.3g}" for v in (statistics.median(values), min(values), max(values))]
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} ({texts[1]} to {texts[2]})"


def ratio(ours: list[float], theirs: list[float]) -> str:
    """The ratio of the medians."""
    of = statistics.median(ours) / statistics.median(theirs)
    return f"{of:.2f}" if abs(of - 1) <= TOLERANCE else f"**{of:.2f}**"


def arguments() -> argparse.Namespace:
    """The command line."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of each question (3)")
    parser.add_argument("--repeat-kernel", type=int, help="those of the kernel, if they differ")
    parser.add_argument("--only", default="", help="only questions whose name has this text")
    parser.add_argument("--without-kernel", action="store_true", help="do not ask the kernel")
    parser.add_argument("--without-ns3", action="store_true", help="do not ask ns-3")
    parser.add_argument("--timeplane", type=Path, default=target / "release/timeplane")
    parser.add_argument("--kernel", type=Path, default=target / "release/examples/kernel_tcp")
    parser.add_argument("--ns3", type=Path, default=ROOT / "benches/peers/ns3/build/tcp")
    parser.add_argument("--ns3-option", action="append", default=[], help="option of ns-3's program")
    parser.add_argument("--key", action="append", default=[], help="key of transport.tcp, as 'rto = \"rfc\"'")
    parser.add_argument("--json", type=Path, help="also write all values to this file")
    args = parser.parse_args()
    if not args.timeplane.exists():
        parser.error(f"{args.timeplane} does not exist: README.md says how to build it")
    return args


def main() -> None:
    """Asks all questions and prints a table."""
    args = arguments()
    kernel, ns3 = Kernel(args.kernel), Ns3(args.ns3, args.ns3_option)
    wanted = [kernel] * (not args.without_kernel) + [ns3] * (not args.without_ns3)
    for peer in wanted:
        if why := peer.missing():
            print(f"without {peer.name}: {why}", file=sys.stderr)
    peers = [peer for peer in wanted if not peer.missing()]
    ours = [Simulator(args.timeplane, preset, args.key) for preset in PRESETS]
    repeat = {kernel.name: args.repeat_kernel or args.repeat}
    head = ["question", "quantity", *(peer.name for peer in peers)]
    for simulator in ours:
        head += [simulator.name, *(f"to {peer.name}" for peer in peers)]
    print("|", " | ".join(head), "|")
    print("|", " | ".join(["---"] * 2 + ["---:"] * (len(head) - 2)), "|")
    rows = []
    for question in questions():
        if args.only not in question.name:
            continue
        asked = [peer for peer in peers if peer.has(question)] + ours
        outcomes = {one.name: [one.ask(question, seed) for seed in range(1, repeat.get(one.name, args.repeat) + 1)] for one in asked}
        for quantity, measure in question.measures.items():
            found = {name: [measure(outcome) for outcome in answers] for name, answers in outcomes.items()}
            cells = [question.name, quantity, *(value(found[p.name]) if p.name in found else "" for p in peers)]
            for simulator in ours:
                mine = found[simulator.name]
                cells += [value(mine), *(ratio(mine, found[p.name]) if p.name in found else "" for p in peers)]
            print("|", " | ".join(cells), "|", flush=True)
            rows.append({"question": question.name, "quantity": quantity, **found})
    if kernel.late_us > 0:
        print(f"\nThe emulated link handed packets over at most {kernel.late_us:.0f} us late at p99.")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
