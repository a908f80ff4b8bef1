"""Gains of antennas and rates of links for the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from timeplane import algorithms
from timeplane.studies import Options

if TYPE_CHECKING:
    from .study import Outcome

#: Names for figures.
ANTENNAS = {"narrow_beam": "narrow beam", "wide_beam": "wide beam", "geofencing": "Geo-fencing"}


def gains(outcome: Outcome, options: Options) -> None:
    """Gain in dBi by angle from the axis in degrees."""
    degrees = np.arange(-180, 181.0, 2.0)
    for name in ANTENNAS:
        for x, gain in zip(degrees, algorithms.antenna_gain(name, degrees), strict=True):
            outcome.add(float(x), name, 0, {"gain_dbi": float(gain)})


def ranges(outcome: Outcome, options: Options) -> None:
    """Rate in Gb/s by distance in meters."""
    meters = np.round(np.geomspace(0.5, 500, 241), 3)
    for name in ANTENNAS:
        for x, rate in zip(meters, algorithms.link_rate(name, meters), strict=True):
            outcome.add(float(x), name, 0, {"gbps": float(rate) / 1e9})
