"""Hops between racks over the circuits of each slice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import timeplane as tp

if TYPE_CHECKING:
    from .experiments import Experiment

#: A name that nothing else registers.
LOOK = "rotor_study_looks"


class _Seen(Exception):
    """The circuits are known."""


def circuits(scenario: Mapping[str, Any]) -> NDArray[np.int64]:
    """The rack to which each uplink of a rack leads in each slice, or -1, by (slice, rack, uplink).
    Routings are asked for tables before the first run; this one only looks.
    """
    found: list[NDArray[np.int64]] = []

    def look(given: NDArray[np.int64]) -> None:
        found.append(given)
        raise _Seen

    scheme = {"transport": {"datagrams": {}}, "rotor": {"routing": {"own": LOOK}}}
    tp.register_routing(LOOK, look)
    try:
        tp.Scenario.from_dict({**scenario, "sweep": {}, "scheme": {"look": scheme}}).validate()
    except tp.RunError:
        if not found:
            raise
    finally:
        tp.unregister_scheduler(LOOK)
    return found[0]


def settled(of: NDArray[np.int64]) -> list[tuple[int, list[int]]]:
    """Slices, each with the uplinks that do not change at its start."""
    changes = (of != np.roll(of, 1, axis=0)).any(axis=1)
    return [(s, [u for u in range(of.shape[2]) if not changes[s, u]]) for s in range(len(of))]


def shortest(near: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Hops of shortest paths in a graph; -1 without a path."""
    reached = np.eye(len(near), dtype=bool)
    found = np.where(reached, 0, -1).astype(np.int8)
    for hops in range(1, len(near)):
        further = (reached.astype(np.int32) @ near > 0) & ~reached
        if not further.any():
            break
        found[further] = hops
        reached |= further
    return found


def distances(of: NDArray[np.int64]) -> NDArray[np.int8]:
    """Hops of shortest paths over the settled circuits of each slice, by (slice, rack, rack); -1
    without a path.
    """
    slices, racks, _ = of.shape
    found = np.empty((slices, racks, racks), dtype=np.int8)
    for s, uplinks in settled(of):
        near = np.zeros((racks, racks), dtype=bool)
        for u in uplinks:
            rack = np.flatnonzero(of[s, :, u] >= 0)
            near[rack, of[s, rack, u]] = True
        found[s] = shortest(near)
    return found


def wires(run: tp.Run, hosts: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Wires of shortest paths between pairs of the hosts of a static network."""
    ends = np.stack([run.links[name].astype(np.int64) for name in ("from", "to")])
    first = ends[0] < hosts
    switch = np.zeros(hosts, dtype=np.int64)
    switch[ends[0, first]] = ends[1, first] - hosts
    among = ends[:, (ends >= hosts).all(axis=0)] - hosts
    near = np.zeros((among.max() + 1,) * 2, dtype=bool)
    near[among[0], among[1]] = True
    return 2 + shortest(near)[*switch[pairs]].astype(np.int64)


_known: dict[str, NDArray[np.int8]] = {}


def between_racks(experiment: Experiment) -> NDArray[np.int8]:
    """Distances in the network of an experiment."""
    scenario = experiment.scenario(1)
    name = json.dumps(scenario["fabric"])
    if name not in _known:
        _known[name] = distances(circuits(scenario))
    return _known[name]
