"""Writes an imported workload as a scenario with its data files, and reads flow lists of timeplane."""

from __future__ import annotations

import csv
import os
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from timeplane.importers import _chakra
from timeplane.importers._model import Flow, Imported
from timeplane.importers._text import Place, read_text
from timeplane.importers._topology import fabric

_COLUMNS = ("start_ps", "source", "destination", "size_bytes")


def write(imported: Imported, path: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write a scenario and its data files, and return their paths.

    Data files are named after the scenario, in its folder: `NAME-flows.csv`, or `NAME-chakra/` if
    flows wait for others, and `NAME-hosts.csv` if hosts have names. The scenario is checked as
    `timeplane validate` does it.

    Raises :class:`FormatError` if a file exists and ``force`` is not set, and
    :class:`timeplane.ScenarioError` if timeplane cannot run the scenario; then nothing is left.
    """
    from timeplane.scenario import Scenario

    path = Path(path)
    waiting = any(flow.after for flow in imported.flows)
    flows = path.with_name(f"{path.stem}-flows.csv")
    chakra = path.with_name(f"{path.stem}-chakra")
    hosts = path.with_name(f"{path.stem}-hosts.csv")
    wanted = [path, chakra if waiting else flows, *([hosts] if imported.names is not None else [])]
    for one in wanted:
        if one.exists() and not force:
            raise Place(one).error("the file exists", "another name, or --force to replace it")
    if waiting:
        shutil.rmtree(chakra, ignore_errors=True)
        made, fine = _chakra.write(imported.flows, chakra / "flows")
        workload = ["[workload.chakra]", f'prefix = "{_quoted(chakra.name)}/flows"', f"ranks = {len(made)}"]
        if fine:
            workload.append("time_scale = 0.000001              # times in these files are in picoseconds")
    else:
        write_flow_list(imported.flows, flows)
        workload = ["[workload.flows]", f'file = "{_quoted(flows.name)}"']
    if imported.names is not None:
        with hosts.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("host", "name"), *enumerate(imported.names)])
    path.write_text(_scenario(imported, workload, hosts.name if imported.names is not None else None), encoding="utf-8")
    try:
        Scenario.from_file(path).validate()
    except ValueError:
        for one in wanted:
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        raise
    return wanted


def count(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number:,} {what}{'' if number == 1 else 'es' if what.endswith('ch') else 's'}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _scenario(imported: Imported, workload: Sequence[str], hosts: str | None) -> str:
    about = f"{count(len(imported.flows), 'flow')} among {imported.network.hosts:,} hosts, imported from {imported.simulator}."
    made = [f"# {about}"]
    if hosts is not None:
        made.append(f"# {_comment(hosts)} has the names of the hosts in the imported files.")
    for title, items in (("Not carried over", imported.lost), ("Assumed", imported.assumed)):
        if items:
            made += ["#", f"# {title}:"]
            for item in items:
                made += textwrap.wrap(_comment(item), 96, initial_indent="#   ", subsequent_indent="#     ", break_long_words=False)
    missing = "Marking" if imported.network.buffer_bytes is not None else "Buffers, marking"
    made += ["#", f"# {missing}, packet sizes and transports are not in the files. Set `fabric.switch`,"]
    made += ["# `fabric.mtu` and the schemes to what you compare."]
    made += [f'description = "{about}"', "", *fabric(imported.network), "", *workload, ""]
    made += ["[scheme.cubic]                     # the baseline; add the schemes to compare with it"]
    made += ['transport.tcp = { congestion = "cubic" }', ""]
    return "\n".join(made)


def _comment(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def write_flow_list(flows: Sequence[Flow], path: str | os.PathLike[str]) -> None:
    """Write flows as a flow list of timeplane, in their order.

    Raises :class:`FormatError` for flows that wait for others.
    """
    if any(flow.after for flow in flows):
        raise Place(path).error("some flows wait for others", "flows with a start")
    grouped = any(flow.coflow is not None for flow in flows)
    made = [",".join((*_COLUMNS, "coflow") if grouped else _COLUMNS)]
    for flow in flows:
        group = f",{'' if flow.coflow is None else flow.coflow}" if grouped else ""
        made.append(f"{flow.start_ps},{flow.source},{flow.destination},{flow.size_bytes}{group}")
    Path(path).write_text("\n".join(made) + "\n", encoding="utf-8")


def read_flow_list(path: str | os.PathLike[str]) -> list[Flow]:
    """Read a flow list of timeplane in CSV, such as `timeplane export-flows` writes.

    Raises :class:`FormatError` with the line of a cell that is not a whole number.
    """
    rows = csv.reader(read_text(path).splitlines())
    header = [name.strip() for name in next(rows, [])]
    if missing := [name for name in _COLUMNS if name not in header]:
        raise Place(path, 1).error(f"no column `{missing[0]}`", f"the columns {', '.join(_COLUMNS)}")
    flows = []
    for row in rows:
        place = Place(path, rows.line_num)
        if not row:
            continue
        if len(row) != len(header):
            raise place.error(f"{len(row)} cells", f"{len(header)}, as the header has")
        cell = dict(zip(header, (text.strip() for text in row)))
        start, source, destination = (place.whole(cell[name], name) for name in _COLUMNS[:3])
        coflow = place.whole(cell["coflow"], "coflow") if cell.get("coflow") else None
        flows.append(Flow(source, destination, place.size(cell["size_bytes"], "size_bytes"), start, coflow))
    return flows

