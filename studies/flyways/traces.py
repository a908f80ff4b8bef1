"""Demands between racks, case by case. The paper's four traces are not public, so all are
different ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from timeplane.studies import read_coflows

DATA = Path(__file__).resolve().parents[2] / "data"

Matrices = Sequence[np.ndarray]
#: Number of racks in the layout.
PLACES = 160
#: Bytes of the largest cell; relative completion times do not depend on it.
LARGEST = 1e10


def scaled(matrix: np.ndarray) -> np.ndarray:
    """The matrix in whole bytes, with ``LARGEST`` in its largest cell and an empty diagonal."""
    matrix = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(matrix, 0)
    return np.round(matrix * (LARGEST / matrix.max()))


def placed(matrix: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The same demand between other racks: rack ``i`` becomes ``places[i]``."""
    moved = np.zeros_like(matrix)
    moved[np.ix_(places, places)] = matrix
    return moved


@cache
def projector_matrix() -> np.ndarray:
    """Shares of the bytes between 128 racks."""
    table = np.loadtxt(DATA / "matrices" / "projector_tors_128_probabilities.txt", delimiter=",")
    matrix = np.zeros((128, 128))
    matrix[table[:, 1].astype(int), table[:, 2].astype(int)] = table[:, 3]
    return matrix


def projector(cases: int) -> Matrices:
    """One matrix: first with its racks in order, then with its racks at random places among the
    first 128.
    """
    rng = np.random.default_rng(1)
    matrix = scaled(projector_matrix())
    return [matrix if case == 0 else placed(matrix, rng.permutation(128)) for case in range(cases)]


@cache
def coflows() -> list[tuple[float, np.ndarray]]:
    """FB2010: start in seconds, and MB between 150 racks, without traffic within a rack. A
    reducer's MB are divided equally among the mappers.
    """
    found = []
    for start, senders, parts in read_coflows(DATA / "coflow" / "fb2010.txt"):
        matrix = np.zeros((150, 150))
        for rack, megabytes in parts:
            np.add.at(matrix, (senders, rack), megabytes / len(senders))
        np.fill_diagonal(matrix, 0)
        found.append((start, matrix))
    return found


def fb2010(cases: int) -> Matrices:
    """Arrivals in each minute of the hour that has any; if ``cases`` is smaller, evenly spread
    minutes.
    """
    minutes: dict[int, np.ndarray] = {}
    for seconds, matrix in coflows():
        minutes[int(seconds // 60)] = minutes.get(int(seconds // 60), 0) + matrix
    full = [minutes[minute] for minute in sorted(minutes) if minutes[minute].max() > 0]
    return [scaled(full[k]) for k in spread(len(full), cases)]


@cache
def pod_matrices() -> np.ndarray:
    """The series of 8 x 8 matrices."""
    table = np.loadtxt(DATA / "matrices" / "pod_b_8x8.hist")
    matrices = table.reshape(len(table), 8, 8)
    return matrices * (1 - np.eye(8))


def pods(cases: int) -> Matrices:
    """Evenly spread matrices of the series, between the first racks of the layout."""
    matrices = pod_matrices()
    return [scaled(matrices[k]) for k in spread(len(matrices), cases)]


def spread(length: int, count: int) -> list[int]:
    """``count`` evenly spread numbers below ``length``."""
    count = min(count, length)
    return [k * length // count for k in range(count)]


TRACES = {"projector": projector, "fb2010": fb2010, "pods": pods}
#: Names for figures.
TITLES = {"projector": "ProjecToR, 128 racks", "fb2010": "FB2010, 150 racks", "pods": "pods, 8 racks"}
