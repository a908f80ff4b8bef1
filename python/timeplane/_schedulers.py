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
    """Makes a scheduler known under a name, for ``scheme.NAME.plan.tdma.scheduler``.

    It is called once a round with the demand: a matrix of float64, ``demand[i, j]`` wire bytes that wait at host ``i`` for host
    ``j`` and that no slot granted before will serve. It returns ``(matchings, durations)``:

    - ``matchings``: a list of integer arrays, one for each slot, at most ``round_slots`` of them. ``matching[i]`` is the host
      that host ``i`` sends to, -1 where it is silent. No host sends to itself, and no two to the same. No matching at all is an
      idle round.
    - ``durations``: how long the slots are open: a number of seconds, a text such as ``"300 us"`` or a ``timedelta``; one for
      all or a list with one for each; ``None`` for the ``slot`` of the scenario. The gap after each is the scenario's ``guard``.

    A **class** is made anew for every run, with :class:`SlotParameters`, and its instances are called: what it keeps from round to
    round belongs in there. Anything else that can be called serves all runs, which may run at the same time and in any
    order: it should keep nothing.

    An exception, or an answer that is no plan, ends everything with a :class:`RunError` whose ``__cause__`` is the original.
    Its own computing takes no simulated time: the scenario's ``compute_time`` is charged.

    Runs with such a scheduler are always run again, as nothing tells whether its code has changed.

    Without ``scheduler`` it is a decorator: ``@tp.register_scheduler("mine")``.
    """
    if not isinstance(name, str) or not name:
        raise TypeError("the name of a scheduler is a text")
    if name in _core.schedulers():
        raise ValueError(f"`{name}` is a built-in scheduler: choose another name")
    if scheduler is None:
        return lambda scheduler: register_scheduler(name, scheduler)
    if not callable(scheduler):
        raise TypeError(f"a scheduler can be called, {type(scheduler).__name__} cannot")
    _known[name] = scheduler
    return scheduler


def unregister_scheduler(name: str) -> None:
    """Forgets a scheduler."""
    _known.pop(name, None)


def schedulers() -> list[str]:
    """Names of all schedulers: the built-in ones, then those registered."""
    return [*_core.schedulers(), *_known]


def registered() -> Mapping[str, Any]:
    """Those registered, by name."""
    return dict(_known)
