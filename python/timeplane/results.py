"""What came out of runs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from timeplane import _core

if TYPE_CHECKING:
    import xarray as xr

    from timeplane._core import Table


class _Tables:
    """Tables by name. All have the columns ``run``, ``scheme``, one per swept key, and ``seed`` in front."""

    def table(self, name: str) -> Table:
        """The table of this name."""
        raise NotImplementedError

    @property
    def flows(self) -> Table:
        """One row per flow that arrived."""
        return self.table("flows")

    @property
    def coflows(self) -> Table:
        """One row per group of flows that counts as done when its last flow is."""
        return self.table("coflows")

    @property
    def steps(self) -> Table:
        """One row per step; only where flows wait for others are there any."""
        return self.table("steps")

    @property
    def collectives(self) -> Table:
        """One row per collective of a group in a step; only where flows wait for others are there any."""
        return self.table("collectives")

    @property
    def queues(self) -> Table:
        """One row per queue that is not empty at a sample; without ``record.queues_every`` there are none."""
        return self.table("queues")

    @property
    def received(self) -> Table:
        """One row per sample and host that has received something since the last one; without ``record.received_every`` there are none."""
        return self.table("received")

    @property
    def tcp(self) -> Table:
        """One row per sample and TCP flow that is under way; without ``record.tcp_every`` there are none."""
        return self.table("tcp")

    @property
    def rates(self) -> Table:
        """One row whenever a host may send to another one at another rate (`record.grants`)."""
        return self.table("rates")

    @property
    def air(self) -> Table:
        """One row whenever what an air link carries changes."""
        return self.table("air")

    @property
    def drops(self) -> Table:
        """One row per link and reason for which packets were lost."""
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
        """Packets by the time that they spent in the network; without ``record.latency`` there are none."""
        return self.table("latency")

    @property
    def rtt(self) -> Table:
        """TCP's segments by their round-trip time; without ``record.rtt`` there are none."""
        return self.table("rtt")


class Run(_Tables):
    """One run: a point of the sweep, a scheme, a seed."""

    #: Names its folder.
    key: str
    #: Name of its scheme.
    scheme_name: str
    #: The swept keys and their values, as texts.
    point: Mapping[str, str]
    #: Its seed.
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
        return f"<run {self.scheme_name}{point} seed={self.seed}>"


class Comparison:
    """Schemes side by side: means over seeds with 95 % intervals, differences to the first scheme seed by seed, bounds."""

    def __init__(self, core: _core.Comparison) -> None:
        self._core = core

    def to_text(self, width: int | None = None) -> str:
        """As a table for a terminal of so many columns; by default of this one."""
        return self._core.text(width or shutil.get_terminal_size((100, 24)).columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything in nested dicts: ``["lines"][i]["metrics"]["fct_mean_ps"]["value"]["mean"]``. Times are picoseconds."""
        return json.loads(self._core.json())

    def to_csv(self) -> str:
        """One row per point, scheme and metric."""
        return self._core.csv()

    @property
    def notes(self) -> list[str]:
        """What a reader has to know beside the numbers: window, seeds, what did not finish."""
        text = self._core.text(1_000_000)
        return text.rstrip("\n").rpartition("\n\n")[2].splitlines()

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from timeplane._html import comparison

        return comparison(self.to_dict(), self._core.labels(), self.notes)


class Results(_Tables):
    """All complete runs of a scenario.

    ``print(results)`` shows the comparison, as does the last line of a notebook's cell. Tables (:attr:`flows`, :attr:`coflows`, ...) hold
    the rows of all runs, those of :attr:`runs` the rows of one.

    >>> results = tp.Results.open("results/fb2010")
    >>> results.coflows.to_polars().group_by("scheme").agg(pl.col("cct_ps").mean())
    """

    #: Schemes side by side.
    comparison: Comparison

    def __init__(self, core: _core.Results, comparison: Comparison | None = None) -> None:
        self._core = core
        self.comparison = comparison or Comparison(core.compare())

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Results:
        """Opens a folder of results, such as ``results/fb2010``."""
        return cls(_core.Results.open(os.fspath(directory)))

    @property
    def directory(self) -> str:
        """The folder; a temporary one goes with the last reference to these results and their tables."""
        return os.fspath(self._core.directory)

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._core.name

    @property
    def manifest(self) -> dict[str, Any]:
        """What was asked: scenario, seeds, version, all runs."""
        return json.loads(self._core.manifest())

    @property
    def runs(self) -> Sequence[Run]:
        """The complete runs, by point, scheme and seed."""
        return [Run(self._core, i, *about) for i, about in enumerate(self._core.runs())]

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes, in the order of the scenario."""
        return list(dict.fromkeys(scheme for _, scheme, _, _ in self._core.runs()))

    @property
    def points(self) -> list[dict[str, str]]:
        """All points of the sweep; one empty one where nothing is swept."""
        return list({tuple(point.items()): dict(point) for _, _, point, _ in self._core.runs()}.values())

    @property
    def is_complete(self) -> bool:
        """Whether all runs are there."""
        return len(self._core.runs()) == self._core.planned

    def table(self, name: str) -> Table:
        """The table of this name, with the rows of all runs."""
        return self._core.table(name)

    @property
    def summary(self) -> Table:
        """One row per run: means, percentiles, counts."""
        return self._core.summary()

    def to_xarray(self) -> xr.Dataset:
        """The summary as labelled arrays: a dimension for each swept key, for schemes and for seeds; one variable per column.

        Where no run is, such as at points of keys that change together, values are missing. Needs xarray and pandas.

        >>> results.to_xarray().fct_mean_ps.mean("seed").sel(scheme="dctcp")
        """
        table = self.summary
        columns = list(table.columns)
        dimensions = [*columns[columns.index("scheme") + 1 : columns.index("seed")], "scheme", "seed"]
        frame = table.to_pandas().drop(columns="run")
        dataset = frame.set_index(dimensions).to_xarray()
        labels = self.comparison._core.labels()
        for name, values in dataset.data_vars.items():
            # The names that xarray's plots look for.
            values.attrs |= {"long_name": labels[name]} if name in labels else {}
            unit = str(name).rpartition("_")[2]
            values.attrs |= {"units": {"ps": "ps", "bps": "bit/s", "bytes": "B"}[unit]} if unit in ("ps", "bps", "bytes") else {}
        return dataset

    def compare(self, baseline: str | None = None, metrics: Sequence[str] = ()) -> Comparison:
        """Compares again: to another scheme, by other metrics (names of the summary's columns, as ``"fct_p99_ps"``)."""
        return Comparison(self._core.compare(baseline, list(metrics)))

    def to_dict(self) -> dict[str, Any]:
        """The comparison in nested dicts."""
        return self.comparison.to_dict()

    def __str__(self) -> str:
        return str(self.comparison)

    def __repr__(self) -> str:
        runs = len(self._core.runs())
        missing = f" of {self._core.planned}" if runs < self._core.planned else ""
        return f"<results {self.name}: {runs}{missing} runs of {', '.join(self.schemes)}>"

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()
