"""Flows as a table in CSV, with any names of columns: one line per flow.

Users of OMNeT++ and INET have such tables beside their `.ini` files, or make them from traffic
parameters (`startTime`, `sendBytes`, `connectAddress`). Results that `opp_scavetool` exports are no
workload, because they have no destinations.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path

from timeplane.importers._model import Flow, Imported, Losses, picoseconds
from timeplane.importers._options import Options
from timeplane.importers._text import LARGEST_BYTES, MOST_HOSTS, SIZE, TIME, Place, read_text, shown

ABOUT = "tables of flows with any names of columns, as users of OMNeT++ and INET have them"
TAKES = ("columns", "hosts", "rate")

#: What a flow consists of, with the unit of numbers that have none.
_PARTS = {"start": "s", "source": None, "destination": None, "size": "B", "coflow": None}
_UNITS = {"start": TIME, "size": SIZE}
#: The first columns of what `opp_scavetool export` writes.
_RESULTS = ("run", "type", "module", "name")


def read(path: Path, options: Options) -> Imported:
    """Read a table of flows.

    ``options.columns`` has the name of the column for `start`, `source`, `destination`, `size` and,
    if there are groups, `coflow`. The default is a column of the same name. A name may end in a
    unit, such as `time:ms`. It is for cells without a unit; otherwise these are in seconds and
    bytes. Hosts whose names are not numbers are numbered in the order of their names.

    Raises :class:`FormatError` for exports of results, and for cells that are not quantities.
    """
    text = read_text(path)
    place = Place(path, 1)
    head = text.split("\n", 1)[0].strip("\r")
    delimiter = max(",;\t", key=head.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(rows, [])]
        if tuple(header[:4]) == _RESULTS:
            raise place.error("results that opp_scavetool exported, without destinations", "a table with one line per flow")
        columns = _columns(place, header, options.columns or {})
        lost = Losses()
        cells, flows = [], []
        for row in rows:
            place = Place(path, rows.line_num)
            if not row or not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise place.error(f"{len(row)} cells", f"{len(header)}, as the header has")
            cells.append((place, {part: row[at].strip() for part, (at, _) in columns.items()}))
    except csv.Error as error:
        raise place.error(f"damaged CSV ({error})", "a table of flows") from None
    if not cells:
        raise place.error("no flows", "a header, and a line for each flow")
    hosts, names = _hosts(cells)
    for place, cell in cells:
        flows.append(_flow(place, cell, columns, hosts, lost))
    network, said = options.switch(Place(path), len(names) if names else 1 + max(hosts.values()))
    used = {at for at, _ in columns.values()}
    lost.add("columns without a part of a flow", [shown(name) or "no name" for at, name in enumerate(header) if at not in used])
    return Imported("a table", network, flows, lost.lines(), [said], names)


def _columns(place: Place, header: list[str], given: Mapping[str, str]) -> dict[str, tuple[int, str | None]]:
    """The position and the unit of each part of a flow."""
    for part in given:
        if part not in _PARTS:
            raise Place("--columns").error(f"`{shown(part)}`", f"one of {', '.join(_PARTS)}")
    found = {}
    for part, usual in _PARTS.items():
        name, _, unit = given.get(part, part).rpartition(":")
        if not name:
            name, unit = unit, ""
        if unit and unit not in _UNITS.get(part, {}):
            # A colon may be part of a name.
            name, unit = f"{name}:{unit}", ""
        if name not in header:
            if part == "coflow" and part not in given:
                continue
            said = ", ".join(f"`{shown(one)}`" for one in header[:12])
            raise place.error(f"no column `{shown(name)}` for the {part}", f"one of {said}; `--columns {part}=NAME` names another one")
        if header.count(name) > 1:
            raise place.error(f"the column `{shown(name)}` {header.count(name)} times", "each column once")
        found[part] = header.index(name), unit or usual
    return found


def _hosts(cells: list[tuple[Place, dict[str, str]]]) -> tuple[dict[str, int], list[str] | None]:
    """The number of each host by its name, and all names if they are not these numbers."""
    named: dict[str, Place] = {}
    for place, cell in cells:
        for part in ("source", "destination"):
            if not cell[part]:
                raise place.error(f"the {part} is empty", "a host")
            named.setdefault(cell[part], place)
    if all(name.isascii() and name.isdigit() for name in named):
        return {name: place.whole(name, "a host", 0, MOST_HOSTS - 1) for name, place in named.items()}, None
    # Every second part is a number, so that host[10] comes after host[9].
    parts = {name: re.split(r"([0-9]+)", name) for name in named}
    names = sorted(named, key=lambda name: [int(part) if at % 2 else part for at, part in enumerate(parts[name])])
    return {name: host for host, name in enumerate(names)}, names


def _flow(place: Place, cell: Mapping[str, str], columns: Mapping[str, tuple[int, str | None]], hosts: Mapping[str, int], lost: Losses) -> Flow:
    source, destination = hosts[cell["source"]], hosts[cell["destination"]]
    if source == destination:
        raise place.error(f"host `{shown(cell['source'])}` sends to itself", "two different hosts")
    size = place.quantity(cell["size"], "the size", SIZE, columns["size"][1])
    if size.denominator != 1 or not 1 <= size <= LARGEST_BYTES:
        raise place.error(f"the size is `{shown(cell['size'])}`", "whole bytes, from 1 to 1e15")
    start = picoseconds(place, place.quantity(cell["start"], "the start", TIME, columns["start"][1]), "the start", lost)
    coflow = place.whole(cell["coflow"], "the coflow") if cell.get("coflow") else None
    return Flow(source, destination, int(size), start, coflow)
