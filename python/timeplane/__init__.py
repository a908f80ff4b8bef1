"""timeplane: packet-level simulation of data-center networks whose transmissions are planned in
time.

>>> import timeplane as tp
>>> scenario = tp.Scenario.from_file("scenarios/shuffle.toml", set={"seeds": 3})
>>> results = scenario.run()
>>> print(results)
>>> flows = results.flows.to_polars()

Describe scenarios with the classes of :mod:`timeplane.scenario` or read them from TOML files. They
run in Rust on all cores, without the interpreter's lock. polars, pandas, pyarrow and DuckDB read
results without a copy.

Modules are imported on first use, except for the compiled part.
"""

from __future__ import annotations

import importlib

from timeplane._core import __version__

# Type checkers take it as true. Importing `typing` would take longer than everything else.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from timeplane import algorithms, importers, live, plot, scenario, studies
    from timeplane._core import (
        BusyWire,
        CircuitParameters,
        FlywayParameters,
        RateFlows,
        RateParameters,
        RoutingParameters,
        SlotParameters,
        Table,
        TimeslotParameters,
        WaitingPairs,
    )
    from timeplane._errors import Issue, RunError, ScenarioError, ScenarioWarning, TimeplaneError
    from timeplane._progress import Progress
    from timeplane._schedulers import (
        register_circuits,
        register_flyways,
        register_order,
        register_rates,
        register_routing,
        register_scheduler,
        schedulers,
        unregister_scheduler,
    )
    from timeplane._sweep import sweep
    from timeplane.results import Comparison, Results, Run
    from timeplane.scenario import *  # noqa: F403

#: Names by module. A module is imported when one of its names is first used.
_PLACES = {
    "timeplane._core": (
        "BusyWire",
        "CircuitParameters",
        "FlywayParameters",
        "RateFlows",
        "RateParameters",
        "RoutingParameters",
        "SlotParameters",
        "Table",
        "TimeslotParameters",
        "WaitingPairs",
    ),
    "timeplane._errors": ("Issue", "RunError", "ScenarioError", "ScenarioWarning", "TimeplaneError"),
    "timeplane._progress": ("Progress",),
    "timeplane._schedulers": (
        "register_circuits",
        "register_flyways",
        "register_order",
        "register_rates",
        "register_routing",
        "register_scheduler",
        "schedulers",
        "unregister_scheduler",
    ),
    "timeplane._sweep": ("sweep",),
    "timeplane.results": ("Comparison", "Results", "Run"),
}
_MODULES = ("algorithms", "importers", "live", "plot", "results", "scenario", "studies")

__all__ = ["__version__", "algorithms", "importers", "live", "plot", "scenario", "studies", *(name for names in _PLACES.values() for name in names)]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"timeplane.{name}")
    for place, names in _PLACES.items():
        if name in names:
            value = getattr(importlib.import_module(place), name)
            break
    else:
        module = importlib.import_module("timeplane.scenario")
        if name.startswith("_") or name not in module.__all__:
            raise AttributeError(f"module 'timeplane' has no attribute {name!r}")
        value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    module = importlib.import_module("timeplane.scenario")
    return sorted({*__all__, *module.__all__})
