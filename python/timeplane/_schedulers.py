"""Algorithms written in Python, for all plans and for rotor switches."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from timeplane import _core
from timeplane._errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from numpy.typing import ArrayLike

    Duration = float | str | timedelta
    Plan = tuple[Sequence[ArrayLike], Duration | Sequence[Duration] | None]

#: Number of inputs of an algorithm, by the key of its plan, or `rotor` for routings.
_INPUTS = {"tdma": 1, "timeslots": 1, "rates": 1, "circuits": 2, "flyways": 1, "rotor": 1}

_known: dict[str, dict[str, Any]] = {plan: {} for plan in _INPUTS}


def _register(plan: str, name: str, algorithm: Any) -> Any:
    if not isinstance(name, str) or not name:
        raise TypeError("the name of an algorithm must be a nonempty string")
    if name in dict(_core.schedulers())[plan]:
        raise ValueError(f"`{name}` is a built-in algorithm of plan.{plan}: expected another name")
    if algorithm is None:
        return lambda algorithm: _register(plan, name, algorithm)
    if not callable(algorithm):
        raise TypeError(f"{type(algorithm).__name__}: expected a class or another callable")
    _known[plan][name] = algorithm
    return algorithm


def register_scheduler(name: str, scheduler: Callable[..., Any] | None = None) -> Any:
    """Register a TDMA scheduler under a name, for ``scheme.NAME.plan.tdma.scheduler``.

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
    run concurrently and in any order, so it should keep no state. If it has an argument
    ``parameters``, it gets them there.

    A scenario may give it **parameters of its own**, in a table in place of its name: ``scheduler =
    { name = "mine", depth = 3 }``. All keys besides ``name`` are keyword arguments of the class, or
    of each call of another callable. A sweep can change them, as
    ``scheme.NAME.plan.tdma.scheduler.depth``.

    An exception or an invalid plan aborts all runs with a :class:`RunError`, whose ``__cause__`` is
    the original exception. So do 10,000 plans in a row that serve nobody while hosts have a
    backlog. The scheduler's computing takes no simulated time; the scenario's ``compute_time``
    does.

    Runs with such a scheduler are never reused, because a change of its code cannot be detected.

    Without ``scheduler`` this is a decorator: ``@tp.register_scheduler("mine")``.
    """
    return _register("tdma", name, scheduler)


def register_circuits(name: str, scheduler: Callable[..., Any] | None = None) -> Any:
    """Register a circuit scheduler under a name, for ``scheme.NAME.plan.circuits.scheduler``.

    A class is instantiated for each run with :class:`CircuitParameters`. It is called at least once
    a period with:

    - ``demand``: as for :func:`register_scheduler`.
    - ``standing``: the matching that is up when the plan starts, or ``None`` before the first plan.

    It returns ``(matchings, durations)``, in which durations are open times; ``None`` is not one of
    them. The switch is dark before each matching that differs from the one before, or that has new
    circuits if only moved ports go dark (``moved_only``). Dark and open times together fit into
    ``window``, a matching is open for at least ``least_open``, and there are at most ``most``
    matchings. What circuits leave is for the packet switch.

    If the attribute ``oblivious`` is true, plans do not depend on the demand, and each continues
    the one before. Such a scheduler is called once a period. Others may be called again, for a
    demand that takes longer because packets take a part of the hosts' links.

    All else is as for :func:`register_scheduler`.
    """
    return _register("circuits", name, scheduler)


def register_order(name: str, order: Callable[..., Any] | None = None) -> Any:
    """Register an order of timeslots under a name, for ``scheme.NAME.plan.timeslots.metric``.

    A class is instantiated for each run with :class:`TimeslotParameters`. It is called for each
    timeslot with :class:`WaitingPairs`, and returns an array of keys, one per pair: integers, or
    floats that are not NaN. Pairs with lower keys are matched first, within their traffic class. A
    hash breaks ties.

    All else is as for :func:`register_scheduler`.
    """
    return _register("timeslots", name, order)


def register_rates(name: str, normalizer: Callable[..., Any] | None = None) -> Any:
    """Register a normalizer of rates under a name, for ``scheme.NAME.plan.rates.normalizer``.

    A class is instantiated for each run with :class:`RateParameters`. It is called after changes
    with :class:`RateFlows`, and returns an array of rates, one per flow, as shares of a host's
    link. Rates are not negative, and their sums exceed no link's capacity. A rate may be higher
    than requested.

    All else is as for :func:`register_scheduler`.
    """
    return _register("rates", name, normalizer)


def register_flyways(name: str, policy: Callable[..., Any] | None = None) -> Any:
    """Register a policy of flyways under a name, for ``scheme.NAME.plan.flyways.policy``.

    A class is instantiated for each run with :class:`FlywayParameters`. It is called with a
    :class:`BusyWire`, many times for each plan. It returns an array of racks, the best first: those
    to which the wire's rack should get a link. Each must have a link on offer (``rates``). The
    planner adds the first link that helps, moves traffic to it, and asks again until nothing helps.

    If the attribute ``transit`` is true, links also carry traffic of other racks, over two hops.

    All else is as for :func:`register_scheduler`.
    """
    return _register("flyways", name, policy)


def register_routing(name: str, routing: Callable[..., Any] | None = None) -> Any:
    """Register a routing over rotor switches under a name, for
    ``scheme.NAME.rotor.routing.own``, or that of ``bulk``.

    A class is instantiated with :class:`RoutingParameters`. It is called at the start of each run,
    and again when a failure becomes known, with ``circuits``, an array of int64:
    ``circuits[slice, rack, uplink]`` is the rack to which an uplink leads in a slice of the cycle,
    or -1. It returns ``(waits, uplinks)``, two arrays of integers that say what a packet does at
    a rack:

    - ``waits[slice, rack, destination]``: slices that it waits, from 0 to one less than a cycle
      has. Several hops may use one slice.
    - ``uplinks[slice, rack, destination]``: the uplink that it takes then, which must have a
      circuit; -1 without a path. Entries of a rack for itself are ignored.

    Both may have a dimension of ways before the others. A flow takes one of them at random, or
    each packet if the attribute ``per_packet`` is true. A packet keeps its way. A table in which
    packets go round for ever is refused, and so is one without a path while all circuits work.

    All else is as for :func:`register_scheduler`.
    """
    return _register("rotor", name, routing)


def unregister_scheduler(name: str) -> None:
    """Remove the registered algorithms of this name, of any plan; unknown names are ignored."""
    for known in _known.values():
        known.pop(name, None)


def schedulers(plan: str = "tdma") -> list[str]:
    """Names of all algorithms for ``tdma``, ``timeslots``, ``rates``, ``circuits``, ``flyways`` or
    ``rotor``: built-in ones, then registered ones. Built-in routings are keys of their own.
    """
    if plan not in _known:
        raise ValueError(f"unknown plan {plan!r}: expected one of {', '.join(_known)}")
    return [*dict(_core.schedulers())[plan], *_known[plan]]


def registered() -> Mapping[str, Mapping[str, Any]]:
    """Registered algorithms by plan and name."""
    return {plan: dict(known) for plan, known in _known.items()}


def _made(algorithm: Any, parameters: Any, own: dict[str, Any]) -> Any:
    """What is called in a run. The compiled part calls this."""
    if isinstance(algorithm, type):
        return algorithm(parameters, **own)
    if _takes_parameters(algorithm):
        own = {"parameters": parameters, **own}
    return functools.partial(algorithm, **own) if own else algorithm


def _takes_parameters(algorithm: Any) -> bool:
    try:
        return "parameters" in inspect.signature(algorithm).parameters
    except (TypeError, ValueError):
        return False


def check_parameters(loaded: _core.Loaded) -> None:
    """Check that the registered algorithms of a scenario accept its parameters for them."""
    for key, scheme, plan, name, values in loaded.own_algorithms():
        if name not in _known[plan]:
            # Validation says so, with the nearest name.
            continue
        algorithm, own = _known[plan][name], json.loads(values)
        try:
            signature = inspect.signature(algorithm)
        except (TypeError, ValueError):
            # Some compiled callables have none. Their call decides.
            continue
        inputs = (None,) if isinstance(algorithm, type) else (None,) * _INPUTS[plan]
        if not isinstance(algorithm, type) and "parameters" in signature.parameters:
            own = {"parameters": None, **own}
        try:
            signature.bind(*inputs, **own)
        except TypeError as e:
            raise RunError(f"{key}: `{name}` does not accept these parameters: {e}", scheme=scheme) from e
