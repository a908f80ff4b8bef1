"""The page of the daemons' metrics: what their status pages have at `/metrics`."""

from __future__ import annotations

import re

from built import example
from generated import Page


def metrics(text: str) -> list[tuple[str, str, str]]:
    """Names as Prometheus stores them, types and meanings, of a text in the format of OpenMetrics."""
    found, helps = [], {}
    for line in text.splitlines():
        if said := re.fullmatch(r"# HELP (\w+) (.*)", line):
            helps[said[1]] = said[2]
        elif said := re.fullmatch(r"# TYPE (\w+) (\w+)", line):
            suffix = "_total" if said[2] == "counter" else ""
            found.append((said[1] + suffix, said[2], helps.get(said[1], "")))
    found.sort(key=lambda one: one[0].split("_")[1] != "controller")
    return found


def page() -> Page:
    """Controller, then agent."""
    made = Page(
        "Metrics of daemons",
        "A controller or an agent with `status = \"127.0.0.1:9464\"` in its file has them at `/metrics`, in the text format of OpenMetrics, which Prometheus "
        "reads; the request carries the token in `status.token` of its runtime folder. Counters begin with 0 at each start of the daemon.",
    )
    for daemon in ("controller", "agent"):
        made.add(f"(metrics-{daemon})=", f"## {daemon.capitalize()}")
        rows = metrics(example("metrics", daemon))
        if not rows:
            raise RuntimeError(f"the {daemon} has no metrics")
        made.table(("metric", "type", ""), [(f"`{name}`", kind, about.replace("<", "&lt;")) for name, kind, about in rows])
    return made
