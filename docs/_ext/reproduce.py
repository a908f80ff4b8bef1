"""Builds the page that says how to reproduce each claim: command, minutes and memory.

Claims are the statements of `published.csv`. A command makes the figures whose experiments a claim
needs; its cost is the sum of those of `costs.csv`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import gallery
from generated import Page

from timeplane.studies import Study, studies
from timeplane.studies._inputs import costs


def cover(needs: Iterable[str], figures: Mapping[str, Sequence[str]], minutes: Mapping[str, float], named: str = "") -> tuple[str, ...] | None:
    """The figures whose experiments include all that are needed; `None` if no figures do.

    A figure that has all comes first, then one that the text ``named`` has, then the cheapest.
    """
    missing, chosen = set(needs), []
    text = named.replace(" ", "")
    price = lambda name: sum(minutes.get(experiment, 0.0) for experiment in figures[name])
    while missing:
        useful = [name for name in figures if missing & set(figures[name])]
        if not useful:
            return None
        rank = lambda name: (not missing <= set(figures[name]), name not in text, price(name) / len(missing & set(figures[name])))
        chosen.append(min(useful, key=rank))
        missing -= set(figures[chosen[-1]])
    return tuple(name for name in figures if name in chosen)


def page() -> Page:
    """Build the page."""
    made = Page(
        "Reproduce the figures",
        "Each study of this repository reproduces a paper. This page has all claims of the papers, with the command that makes the figures "
        "behind them. Minutes and memory are those of the machine that made the stored tables, with two concurrent runs. They come from "
        "`costs.csv` of each study. You need a clone and the package: `pip install '.[plot]'`.",
    )
    rows = []
    for study in studies():
        spent = costs(study.folder).values()
        rows.append((f"[{study.name}](#reproduce-{study.name})", study.about, f"`timeplane study {study.name}`", *_cost(spent)))
    made.table(("study", "question", "command for all figures", "minutes", "MB"), rows)
    made.add(
        "A command writes figures, tables and runs to `results/NAME`, and prints each claim with the result. Add `--quick` for a small version "
        "in less than a minute, which is too short to judge. `timeplane study NAME --judge` judges the stored tables in a second. "
        "[Reproduce a paper](../../how-to/paper.md) explains the rest.",
    )
    for study in studies():
        _study(made, study)
    return made


def _cost(rows: Iterable[Mapping[str, str]]) -> tuple[str, str]:
    """Minutes and memory of experiments, in words; dashes without costs."""
    rows = list(rows)
    if not rows:
        return "-", "-"
    minutes = sum(float(row["minutes"]) for row in rows)
    return ("under 0.1" if minutes < 0.1 else f"{minutes:.1f}"), str(max(int(row["peak_mb"]) for row in rows))


def _study(made: Page, study: Study) -> None:
    package = study.load().__name__
    parts = {name: import_module(f"{package}.{name}") for name in ("experiments", "figures", "claims")}
    experiments = parts["experiments"].experiments(False)
    figures: dict[str, list[str]] = {
        name: [*drawing.needs, *(other for other in drawing.optional if other in experiments)] for name, drawing in parts["figures"].FIGURES.items()
    }
    spent = costs(study.folder)
    minutes = {name: float(row["minutes"]) for name, row in spent.items()}
    groups: dict[tuple[str, ...] | None, list[str]] = {}
    for row in gallery.compared(study.folder):
        claim: dict[str, Any] = dict(zip(("id", "figure", "quantity", "condition", "paper", "ours", "seeds", "agrees"), row))
        needs = parts["claims"].CLAIMS[claim["id"]][0]
        about = f"{claim['quantity']}; {claim['condition']}" if claim["condition"] else claim["quantity"]
        groups.setdefault(cover(needs, figures, minutes, claim["figure"]), []).append(f"{claim['figure']}: {about} ({claim['agrees']})")
    made.add(f"(reproduce-{study.name})=", f"## {study.name}", f"{study.about}. [All statements and figures]({study.name}.md).")
    if not spent:
        root = " Its labs need root." if "needs root" in (study.folder / "README.md").read_text(encoding="utf-8") else ""
        made.add(f"No costs are stored, because its runs are measurements of the machine.{root}")
    rows = []
    order = [*figures]
    for chosen in sorted(groups, key=lambda names: [-2] if names is None else [order.index(name) for name in names] or [-1]):
        needed = dict.fromkeys(name for figure in chosen or () for name in figures[figure])
        if chosen:
            command, cost = f"timeplane study {study.name} --figures {','.join(chosen)}", _cost(spent[name] for name in needed if name in spent)
            shown = ", ".join(f"[{name}](../../../studies/{study.name}/figures/{name}.png)" for name in chosen)
        elif chosen is None:
            command, cost, shown = f"timeplane study {study.name}", _cost(spent.values()), ""
        else:
            command, cost, shown = f"timeplane study {study.name} --judge", ("none", "-"), ""
        rows.append(("<br>".join(groups[chosen]), shown, f"`{command}`", *cost))
    made.table(("claims, with the verdict here", "figures", "command", "minutes", "MB"), rows)
