"""Builds the page of the daemons' metrics, from their status pages."""

from __future__ import annotations

import re

from built import example
from generated import Page


def metrics(text: str) -> list[tuple[str, str, str]]:
    """Parse OpenMetrics text into names as Prometheus stores them, types and descriptions."""
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
        "A controller or an agent with `status = \"127.0.0.1:9464\"` in its file serves these metrics at `/metrics`, in the text format of OpenMetrics. "
        "Requests carry the token of `status.token` in its runtime folder. Counters start at 0 with the daemon.",
    )
    for daemon in ("controller", "agent"):
        made.add(f"(metrics-{daemon})=", f"## {daemon.capitalize()}")
        rows = metrics(example("metrics", daemon))
        if not rows:
            raise RuntimeError(f"no metrics of the {daemon}: expected at least one")
        made.table(("metric", "type", ""), [(f"`{name}`", kind, about.replace("<", "&lt;")) for name, kind, about in rows])
    return made
