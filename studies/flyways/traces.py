"""Demand between racks, case by case. None of it is the paper's: its four traces are not public."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "data"

Matrices = Sequence[np.ndarray]
#: Racks of the layout.
PLACES = 160
#: Bytes of the largest cell: relative completion times do not depend on it.
LARGEST = 1e10


def scaled(matrix: np.ndarray) -> np.ndarray:
    """Whole bytes, the largest cell at ``LARGEST``, nothing on the diagonal."""
    matrix = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(matrix, 0)
    return np.round(matrix * (LARGEST / matrix.max()))


def placed(matrix: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The same between racks elsewhere: rack ``i`` stands at ``places[i]``."""
    moved = np.zeros_like(matrix)
    moved[np.ix_(places, places)] = matrix
    return moved


@cache
def projector_matrix() -> np.ndarray:
    """Shares of bytes between 128 racks."""
    table = np.loadtxt(DATA / "matrices" / "projector_tors_128_probabilities.txt", delimiter=",")
    matrix = np.zeros((128, 128))
    matrix[table[:, 1].astype(int), table[:, 2].astype(int)] = table[:, 3]
    return matrix


def projector(cases: int) -> Matrices:
    """One matrix, by the racks' numbers and with its racks at drawn places among the first 128."""
    rng = np.random.default_rng(1)
    matrix = scaled(projector_matrix())
    return [matrix if case == 0 else placed(matrix, rng.permutation(128)) for case in range(cases)]


@cache
def coflows() -> list[tuple[float, np.ndarray]]:
    """FB2010: seconds, and MB between 150 racks, what stays in a rack left out; a reducer's MB
    shared evenly by the mappers.
    """
    found = []
    for line in (DATA / "coflow" / "fb2010.txt").read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) < 5:
            continue
        mappers, reducers = fields[4].split("#")
        senders = [int(rack) for rack in mappers.split(",")]
        matrix = np.zeros((150, 150))
        for reducer in reducers.split(","):
            rack, megabytes = reducer.split(":")
            np.add.at(matrix, (senders, int(rack)), float(megabytes) / len(senders))
        np.fill_diagonal(matrix, 0)
        found.append((float(fields[1]) / 1000, matrix))
    return found


def fb2010(cases: int) -> Matrices:
    """What arrives in each of the hour's minutes, as far as anything does; spread over the hour
    where fewer are asked for.
    """
    minutes: dict[int, np.ndarray] = {}
    for seconds, matrix in coflows():
        minutes[int(seconds // 60)] = minutes.get(int(seconds // 60), 0) + matrix
    full = [minutes[minute] for minute in sorted(minutes) if minutes[minute].max() > 0]
    return [scaled(full[k]) for k in spread(len(full), cases)]


@cache
def pod_matrices() -> np.ndarray:
    """A series of 8 x 8 matrices."""
    table = np.loadtxt(DATA / "matrices" / "pod_b_8x8.hist")
    matrices = table.reshape(len(table), 8, 8)
    return matrices * (1 - np.eye(8))


def pods(cases: int) -> Matrices:
    """Every so many of the series, as racks side by side."""
    matrices = pod_matrices()
    return [scaled(matrices[k]) for k in spread(len(matrices), cases)]


def spread(length: int, count: int) -> list[int]:
    """So many numbers below a length, evenly."""
    count = min(count, length)
    return [k * length // count for k in range(count)]


TRACES = {"projector": projector, "fb2010": fb2010, "pods": pods}
#: As figures name them.
TITLES = {"projector": "ProjecToR, 128 racks", "fb2010": "FB2010, 150 racks", "pods": "pods, 8 racks"}
