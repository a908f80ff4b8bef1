"""The options of an import, as the command line gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from timeplane.importers._model import Network, one_switch
from timeplane.importers._text import MOST_HOSTS, RATE, Place


@dataclass
class Options:
    """What the files do not say; each format takes some of them."""

    topology: Path | None = None
    hosts: int | None = None
    #: Rate of the hosts' links, such as `100 Gb/s`.
    rate: str | None = None
    #: Columns of a table by what they hold.
    columns: Mapping[str, str] | None = None

    def bps(self, place: Place) -> int:
        """The rate in bit/s."""
        if self.rate is None:
            raise place.error("no topology", "the rate of the hosts' links, such as `--rate '100 Gb/s'`")
        value = Place("--rate").quantity(self.rate, "the rate", RATE)
        if value.denominator != 1 or value < 1:
            raise Place("--rate").error(f"the rate is `{self.rate}`", "whole bit/s")
        return int(value)

    def switch(self, place: Place, used: int) -> tuple[Network, str]:
        """One switch for the hosts of a list without a topology, and how to say so.

        ``used`` is the number of hosts that have flows.
        """
        hosts = max(used, 2) if self.hosts is None else self.hosts
        if not max(used, 2) <= hosts <= MOST_HOSTS:
            raise Place("--hosts").error(f"the number of hosts is {hosts:,}", f"{max(used, 2):,} to {MOST_HOSTS:,}")
        return one_switch(hosts, self.bps(place)), f"without a topology, one switch with {hosts:,} hosts, and 1 us per link"
