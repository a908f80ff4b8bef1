"""Schedulers written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from timeplane import _core

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    import numpy as np

    from timeplane._core import SlotParameters

    Duration = float | str | timedelta
    Plan = tuple[Sequence[Any], Duration | Sequence[Duration] | None]
    Schedule = Callable[[np.ndarray], Plan]
    Scheduler = Schedule | Callable[[SlotParameters], Schedule]

_known: dict[str, Any] = {}


def register_scheduler(name: str, scheduler: Scheduler | None = None) -> Any:
    """Register a scheduler under a name, for ``scheme.NAME.plan.tdma.scheduler``.

    It is called once a round with the demand, a matrix of float64. ``demand[i, j]`` is host ``i``'s
    backlog for host ``j`` in wire bytes, without bytes that granted slots will carry. It returns
    ``(matchings, durations)``:

    - ``matchings``: a list of integer arrays, one per slot, at most ``round_slots`` of them.
      ``matching[i]`` is the host that host ``i`` sends to, or -1. No host sends to itself, and no
      two hosts send to the same one. An empty list is an idle round.
    - ``durations``: how long the slots are open. A duration is a number of seconds, a text such as
      ``"300 us"`` or a ``timedelta``. Give one for all slots, a list with one per slot, or ``None``
      for the scenario's ``slot``. The scenario's ``guard`` follows each slot.

    A **class** is instantiated for each run, with :class:`SlotParameters`, and its instances are
    called. Keep state between rounds in the instance. Any other callable serves all runs, which may
    run concurrently and in any order, so it should keep no state.

    An exception or an invalid plan aborts all runs with a :class:`RunError`, whose ``__cause__`` is
    the original exception. The scheduler's computing takes no simulated time; the scenario's
    ``compute_time`` does.

    Runs with such a scheduler are never reused, because a change of its code cannot be detected.

    Without ``scheduler`` this is a decorator: ``@tp.register_scheduler("mine")``.
    """
    if not isinstance(name, str) or not name:
        raise TypeError("the name of a scheduler must be a nonempty string")
    if name in _core.schedulers():
        raise ValueError(f"`{name}` is a built-in scheduler: expected another name")
    if scheduler is None:
        return lambda scheduler: register_scheduler(name, scheduler)
    if not callable(scheduler):
        raise TypeError(f"{type(scheduler).__name__}: expected a callable as scheduler")
    _known[name] = scheduler
    return scheduler


def unregister_scheduler(name: str) -> None:
    """Remove a registered scheduler; unknown names are ignored."""
    _known.pop(name, None)


def schedulers() -> list[str]:
    """Names of all schedulers: built-in ones, then registered ones."""
    return [*_core.schedulers(), *_known]


def registered() -> Mapping[str, Any]:
    """Registered schedulers by name."""
    return dict(_known)
