"""The command ``timeplane import``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from timeplane._errors import TimeplaneError
from timeplane.importers import FORMATS, read, write
from timeplane.importers._topology import recognize
from timeplane.importers._write import count

_EXAMPLES = """
examples:
  timeplane import hpcc flow.txt --topology fat.txt
  timeplane import htsim incast.cm --topology leaf_spine.topo --out incast.toml
  timeplane import htsim opera.htsim --rate '10 Gb/s' --hosts 648
  timeplane import table flows.csv --columns source=src,destination=dst,size=bytes,start=t:ms --rate '10 Gb/s'
"""


def _columns(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    if wrong := next((pair for pair in pairs if not pair[0] or not pair[2]), None):
        raise argparse.ArgumentTypeError(f"`{''.join(wrong)}`: expected PART=COLUMN, as source=src")
    return {part: column for part, _, column in pairs}


def _parser() -> argparse.ArgumentParser:
    formats = "".join(f"  {name:6} {module.ABOUT}\n" for name, module in FORMATS.items())
    parser = argparse.ArgumentParser(
        prog="timeplane import", description="Convert the input files of another simulator to a scenario.",
        epilog=f"formats:\n{formats}{_EXAMPLES}", formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("format", choices=list(FORMATS), metavar="format", help="one of the formats below")
    parser.add_argument("flows", type=Path, help="the file of the flows")
    parser.add_argument("--topology", type=Path, metavar="FILE", help="hpcc, htsim: the file of the network")
    parser.add_argument("--rate", metavar="RATE", help="htsim, table: the rate of the hosts' links without a topology [default of .cm: '100 Gb/s']")
    parser.add_argument("--hosts", type=int, metavar="N", help="htsim, table: the number of hosts without a topology [default: up to the last one with a flow]")
    parser.add_argument(
        "--columns", type=_columns, metavar="PART=COLUMN,..",
        help="table: the columns of start, source, destination, size and coflow; `start=t:ms` has a unit, the default is s and B",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE", help="the scenario to write; its data files are written beside it [default: FLOWS.toml, here]")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Run ``timeplane import`` with these arguments and return the exit code."""
    parser = _parser()
    try:
        given = parser.parse_args(arguments)
    except SystemExit as exit_:
        return int(exit_.code or 0)
    out = given.out or Path(f"{given.flows.stem}.toml")
    try:
        imported = read(given.format, given.flows, topology=given.topology, hosts=given.hosts, rate=given.rate, columns=given.columns)
        written = write(imported, out, force=given.force)
    except (TimeplaneError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for title, items in (("not carried over", imported.lost), ("assumed", imported.assumed)):
        for item in items:
            print(f"{title}: {item}", file=sys.stderr)
    network = imported.network
    kind = (recognize(network) or ("graph", {}))[0]
    switches = count(network.switches, "switch")
    print(f"{out}: {count(len(imported.flows), 'flow')}, {imported.bytes:,} B; {network.hosts:,} hosts, {switches} ({kind})")
    for one in written[1:]:
        print(f"{one}")
    return 0
