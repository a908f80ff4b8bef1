"""Results of runs: tables, comparisons, and single runs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from timeplane import _core
from timeplane._storage import download, is_address

if TYPE_CHECKING:
    import duckdb
    import xarray as xr

    from timeplane._core import Table


class _Tables:
    """Tables by name. Each starts with the columns ``run``, ``scheme``, one per swept key, and
    ``seed``.
    """

    def table(self, name: str) -> Table:
        """The table of this name."""
        raise NotImplementedError

    @property
    def flows(self) -> Table:
        """One row per flow that arrived."""
        return self.table("flows")

    @property
    def coflows(self) -> Table:
        """One row per coflow, which completes with its last flow."""
        return self.table("coflows")

    @property
    def steps(self) -> Table:
        """One row per step; empty unless flows wait for others."""
        return self.table("steps")

    @property
    def collectives(self) -> Table:
        """One row per collective of a group in a step; empty unless flows wait for others."""
        return self.table("collectives")

    @property
    def queues(self) -> Table:
        """One row per nonempty queue at each sample; empty without ``record.queues_every``."""
        return self.table("queues")

    @property
    def received(self) -> Table:
        """One row per sample and host that received bytes since the last sample; empty without
        ``record.received_every``.
        """
        return self.table("received")

    @property
    def tcp(self) -> Table:
        """One row per sample and active TCP flow; empty without ``record.tcp_every``."""
        return self.table("tcp")

    @property
    def rates(self) -> Table:
        """One row per change of a rate granted to a pair of hosts (``record.grants``)."""
        return self.table("rates")

    @property
    def signals(self) -> Table:
        """One row per gate that a control frame opens or closes (``record.signals``)."""
        return self.table("signals")

    @property
    def air(self) -> Table:
        """One row per change of an air link: its ends, rate and state, and what it carried."""
        return self.table("air")

    @property
    def drops(self) -> Table:
        """One row per link and drop reason."""
        return self.table("drops")

    @property
    def control(self) -> Table:
        """One row per kind and sender of control messages."""
        return self.table("control")

    @property
    def slots(self) -> Table:
        """One row per planned transmission."""
        return self.table("slots")

    @property
    def links(self) -> Table:
        """One row per direction of a wire, over the whole run."""
        return self.table("links")

    @property
    def latency(self) -> Table:
        """Packets by their time in the network; empty without ``record.latency``."""
        return self.table("latency")

    @property
    def rtt(self) -> Table:
        """TCP segments by their round-trip time; empty without ``record.rtt``."""
        return self.table("rtt")

    @property
    def round_trips(self) -> Table:
        """Round-trip times of TCP by interval and reading; empty without ``record.round_trips``."""
        return self.table("round_trips")


class Run(_Tables):
    """One run: a point of the sweep, a scheme, a seed."""

    #: Name of its folder, a hash.
    key: str
    scheme_name: str
    #: Swept keys and their values, as text.
    point: Mapping[str, str]
    seed: int

    def __init__(self, core: _core.Results, index: int, key: str, scheme: str, point: Mapping[str, str], seed: int) -> None:
        self._core = core
        self._index = index
        self.key = key
        self.scheme_name = scheme
        self.point = point
        self.seed = seed

    def table(self, name: str) -> Table:
        """The table of this name, with the rows of this run."""
        return self._core.table(name, self._index)

    def __repr__(self) -> str:
        point = "".join(f" {key}={value}" for key, value in self.point.items())
        return _core.printable_line(f"<run {self.scheme_name}{point} seed={self.seed}>")


class Comparison:
    """Schemes side by side: means over seeds with 95 % intervals, paired differences to the first
    scheme, and bounds.
    """

    def __init__(self, core: _core.Comparison) -> None:
        self._core = core

    def to_text(self, width: int | None = None) -> str:
        """A table for a terminal of ``width`` columns; by default this terminal's width."""
        return self._core.text(width or shutil.get_terminal_size((100, 24)).columns)

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts: ``["lines"][i]["metrics"]["fct_mean_ps"]["value"]["mean"]``. Times are in
        picoseconds.
        """
        return json.loads(self._core.json())

    def to_csv(self) -> str:
        """One row per point, scheme and metric."""
        return self._core.csv()

    @property
    def notes(self) -> list[str]:
        """Notes that qualify the numbers: measurement, seeds, unfinished flows."""
        text = self._core.text(1_000_000)
        return text.rstrip("\n").rpartition("\n\n")[2].splitlines()

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from timeplane._html import comparison

        return comparison(self.to_dict(), self._core.labels(), self.notes)


class Results(_Tables):
    """All complete runs of a scenario.

    A pickle names the folder, and reads it again: on another machine, it has to be there, too. For
    results at an address, it names the address.
    ``print(results)`` and the last line of a notebook's cell show the comparison. Tables
    (:attr:`flows`, :attr:`coflows`, ...) hold the rows of all runs; tables of :attr:`runs` hold the
    rows of one.

    >>> results = tp.Results.open("results/fb2010")
    >>> results.coflows.to_polars().group_by("scheme").agg(pl.col("cct_ps").mean())
    """

    comparison: Comparison

    def __init__(self, core: _core.Results, comparison: Comparison | None = None, address: str | None = None) -> None:
        self._core = core
        self._address = address
        self.comparison = comparison or Comparison(core.compare())

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Results:
        """Open a folder of results, such as ``results/fb2010`` or ``s3://bucket/results/fb2010``.

        From an address, the complete runs of its manifest are copied to a temporary folder, with
        all files, because their digests are checked. It requires fsspec and the package of the
        storage, for example s3fs.
        """
        if not is_address(directory):
            return cls(_core.Results.open(os.fspath(directory)))
        from timeplane._run import _Folder

        folder = _Folder()
        return cls(_core.Results.open(download(directory, folder.path), folder), address=directory)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # Who unpickles it reads the folder again. A temporary one has to be there still.
        return Results.open, (self._address or os.path.abspath(self.directory),)

    @property
    def directory(self) -> str:
        """The folder; a temporary one is removed with the last reference to the results and their
        tables. For results at an address, this is the copy on this machine.
        """
        return os.fspath(self._core.directory)

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest: scenario, seeds, version, all runs."""
        return json.loads(self._core.manifest())

    @property
    def runs(self) -> Sequence[Run]:
        """The complete runs, by point, scheme and seed."""
        return [Run(self._core, i, *about) for i, about in enumerate(self._core.runs())]

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes, in the scenario's order."""
        return list(dict.fromkeys(scheme for _, scheme, _, _ in self._core.runs()))

    @property
    def points(self) -> list[dict[str, str]]:
        """All points of the sweep; one empty point without a sweep."""
        return list({tuple(point.items()): dict(point) for _, _, point, _ in self._core.runs()}.values())

    @property
    def is_complete(self) -> bool:
        """Whether all planned runs are complete."""
        return len(self._core.runs()) == self._core.planned

    def table(self, name: str) -> Table:
        """The table of this name, with the rows of all runs."""
        return self._core.table(name)

    @property
    def summary(self) -> Table:
        """One row per run: means, percentiles, counts."""
        return self._core.summary()

    def to_xarray(self) -> xr.Dataset:
        """The summary as labeled arrays, with one variable per column.

        Its dimensions are the swept keys, schemes and seeds. Values are missing where no run
        exists, for example if keys change together. Requires xarray and pandas.

        >>> results.to_xarray().fct_mean_ps.mean("seed").sel(scheme="dctcp")
        """
        table = self.summary
        columns = list(table.columns)
        dimensions = [*columns[columns.index("scheme") + 1 : columns.index("seed")], "scheme", "seed"]
        frame = table.to_pandas().drop(columns="run")
        dataset = frame.set_index(dimensions).to_xarray()
        labels = self.comparison._core.labels()
        for name, values in dataset.data_vars.items():
            # xarray's plots use these attributes.
            values.attrs |= {"long_name": labels[name]} if name in labels else {}
            unit = str(name).rpartition("_")[2]
            values.attrs |= {"units": {"ps": "ps", "bps": "bit/s", "bytes": "B"}[unit]} if unit in ("ps", "bps", "bytes") else {}
        return dataset

    def to_duckdb(self) -> duckdb.DuckDBPyConnection:
        """A connection to a database in memory, with a view for each table and for the summary.

        All views start with ``run``, ``scheme``, the swept keys and ``seed``. A query reads its
        tables from the files, row group by row group. Requires DuckDB.

        >>> results.to_duckdb().sql("SELECT scheme, avg(fct_ps) FROM flows GROUP BY scheme")
        """
        import duckdb

        connection = duckdb.connect()
        for name, value in vars(_Tables).items():
            if isinstance(value, property):
                connection.register(name, self.table(name))
        connection.register("summary", self.summary)
        return connection

    def compare(self, baseline: str | None = None, metrics: Sequence[str] = ()) -> Comparison:
        """Compare with another baseline or other metrics (columns of the summary, as
        ``"fct_p99_ps"``).
        """
        return Comparison(self._core.compare(baseline, list(metrics)))

    def to_dict(self) -> dict[str, Any]:
        """The comparison in nested dicts; see :meth:`Comparison.to_dict`."""
        return self.comparison.to_dict()

    def __str__(self) -> str:
        return str(self.comparison)

    def __repr__(self) -> str:
        runs = len(self._core.runs())
        missing = f" of {self._core.planned}" if runs < self._core.planned else ""
        return _core.printable_line(f"<results {self.name}: {runs}{missing} runs of {', '.join(self.schemes)}>")

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()
