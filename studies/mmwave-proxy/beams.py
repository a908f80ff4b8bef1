"""The beam matrices of the two rooms. They are not results: every run starts from them.

``beams_a.csv`` and ``beams_b.csv`` come from the modeled walks at -66 dBm, rounded to 0.01 dB:

    cargo run -p timeplane-radio --example link_trace -- --scene B --length 10 --beams FILE
"""

from __future__ import annotations

import csv
import math
from functools import cache

import numpy as np

from .experiments import FOLDER

#: Thermal noise of 500 MHz at 300 K, dBm: 10 log10(k T B) + 30. The paper prints -87.01.
NOISE = 10 * math.log10(1.380649e-23 * 300 * 500e6) + 30


@cache
def matrices(room: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), angles (degrees) and received power (dBm) by time, transmit and receive beam."""
    with (FOLDER / f"beams_{room}.csv").open(newline="", encoding="utf-8") as file:
        rows = [(float(r["time_s"]), float(r["tx_deg"]), float(r["rx_deg"]), float(r["power_dbm"])) for r in csv.DictReader(file)]
    times, sends, listens = (np.unique([row[i] for row in rows]) for i in range(3))
    power = np.full((len(times), len(sends), len(listens)), np.nan)
    for t, tx, rx, level in rows:
        power[np.searchsorted(times, t), np.searchsorted(sends, tx), np.searchsorted(listens, rx)] = level
    return times, sends, power


def switches(room: str) -> int:
    """Number of changes of the pair with the most power between consecutive matrices."""
    _, _, power = matrices(room)
    best = power.reshape(len(power), -1).argmax(axis=1)
    return int((np.diff(best) != 0).sum())
