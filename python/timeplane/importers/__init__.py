"""Workloads and topologies of other simulators, as scenarios of timeplane.

>>> imported = importers.read("htsim", "incast.cm", topology="leaf_spine.topo")
>>> imported.lost                        # what cannot be carried over
>>> importers.write(imported, "incast.toml")

``timeplane import`` does the same from the command line. A format is a module of this package with
`read`, `ABOUT` and `TAKES`, the names of its options; :data:`FORMATS` lists all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from timeplane.importers import hpcc, htsim, table
from timeplane.importers._model import Flow, Imported, Network, Wire
from timeplane.importers._options import Options
from timeplane.importers._text import FormatError
from timeplane.importers._write import read_flow_list, write, write_flow_list
from timeplane.importers.hpcc import write_flows as write_hpcc_flows
from timeplane.importers.htsim import write_flows as write_htsim_flows

#: Formats by name, as in ``timeplane import NAME``.
FORMATS: Mapping[str, ModuleType] = {
    "hpcc": hpcc,
    "htsim": htsim,
    "table": table,
}

__all__ = [
    "FORMATS",
    "Flow",
    "FormatError",
    "Imported",
    "Network",
    "Wire",
    "read",
    "read_flow_list",
    "write",
    "write_flow_list",
    "write_hpcc_flows",
    "write_htsim_flows",
]


def read(
    format: str,
    flows: str | os.PathLike[str],
    *,
    topology: str | os.PathLike[str] | None = None,
    hosts: int | None = None,
    rate: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Imported:
    """Read the files of another simulator.

    ``format`` is a name of :data:`FORMATS`. ``topology`` is the file of the network. Without one,
    some formats need ``rate``, the rate of the hosts' links, such as `100 Gb/s`; ``hosts`` is then
    the number of hosts (default: up to the last one that has a flow). ``columns`` names the columns
    of a table: `{"source": "src", "start": "time:ms"}`.

    Raises :class:`FormatError` with file, line and what is allowed, :class:`OSError` if a file
    cannot be read, and :class:`ValueError` for options that the format does not take.
    """
    if format not in FORMATS:
        raise ValueError(f"format `{format}`: expected {', '.join(FORMATS)}")
    given = {"topology": topology, "hosts": hosts, "rate": rate, "columns": columns}
    for option, value in given.items():
        if value is not None and option not in FORMATS[format].TAKES:
            takers = [name for name, module in FORMATS.items() if option in module.TAKES]
            raise ValueError(f"`{option}` is for {' and '.join(takers)}, not for {format}")
    return FORMATS[format].read(Path(flows), Options(Path(topology) if topology is not None else None, hosts, rate, columns))
