"""timeplane: data-center networks whose transmissions are planned in time, simulated packet by packet.

>>> import timeplane as tp
>>> scenario = tp.Scenario.from_file("scenarios/shuffle.toml", set={"seeds": 3})
>>> results = scenario.run()
>>> print(results)
>>> flows = results.flows.to_polars()

Scenarios are described with the classes of :mod:`timeplane.scenario` or read from TOML files; they run in Rust, on all
cores, with the interpreter free. Results are columns that polars, pandas, pyarrow and DuckDB take without a copy.

Nothing but the compiled part is imported before it is used.
"""

from __future__ import annotations

import importlib

from timeplane._core import __version__

# Tools that look at types take it as true. To import `typing` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from timeplane import algorithms, live, plot, scenario, studies
    from timeplane._core import SlotParameters, Table
    from timeplane._errors import Issue, RunError, ScenarioError, ScenarioWarning, TimeplaneError
    from timeplane._run import Progress
    from timeplane._schedulers import register_scheduler, schedulers, unregister_scheduler
    from timeplane._sweep import sweep
    from timeplane.results import Comparison, Results, Run
    from timeplane.scenario import *  # noqa: F403

#: Where every name is, by module: modules are imported when a name of them is first used.
_PLACES = {
    "timeplane._core": ("SlotParameters", "Table"),
    "timeplane._errors": ("Issue", "RunError", "ScenarioError", "ScenarioWarning", "TimeplaneError"),
    "timeplane._run": ("Progress",),
    "timeplane._schedulers": ("register_scheduler", "schedulers", "unregister_scheduler"),
    "timeplane._sweep": ("sweep",),
    "timeplane.results": ("Comparison", "Results", "Run"),
}
_MODULES = ("algorithms", "live", "plot", "results", "scenario", "studies")

__all__ = ["__version__", "algorithms", "live", "plot", "scenario", "studies", *(name for names in _PLACES.values() for name in names)]


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
