"""What the figures of studies share: two columns wide, one legend above all panels, the colours and lines of :mod:`timeplane.plot`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeplane.plot import COLOURS, LINES, MARKERS, style

__all__ = [
    "BLACK",
    "BLUE",
    "COLOURS",
    "GREEN",
    "LINES",
    "MARKERS",
    "ORANGE",
    "PINK",
    "RED",
    "SKY",
    "WIDE",
    "Drawing",
    "Figures",
    "legend",
    "letter",
    "panels",
    "save",
]

#: Inches: two columns of a paper.
WIDE = 6.9
BLUE, RED, GREEN, PINK, SKY, ORANGE, BLACK = COLOURS


@dataclass(frozen=True)
class Drawing:
    """A figure, and the experiments that it needs; ``optional`` ones are drawn if they were run."""

    #: Gets outcomes by the names of experiments.
    draw: Callable[[Any], Figure]
    needs: Sequence[str]
    optional: Sequence[str] = ()


#: By the names that ``--figures`` takes.
Figures = Mapping[str, Drawing]


def panels(count: int, width: float = WIDE, height: float = 2.15, **options: Any) -> tuple[Figure, Sequence[Axes]]:
    """Axes side by side, in inches; ``options`` are those of ``Figure.subplots``."""
    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(1, count, squeeze=False, **options)[0])


def legend(figure: Figure, axes: Iterable[Axes], columns: int = 4) -> None:
    """One above all panels, where it covers no line; a label that several have is there once."""
    entries: dict[str, Any] = {}
    for a in axes:
        for handle, label in zip(*a.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=min(len(entries), columns))


def letter(axes: Sequence[Axes], titles: Sequence[str]) -> None:
    """Names the panels: (a), (b), ..."""
    for i, (a, title) in enumerate(zip(axes, titles, strict=True)):
        a.set_title(f"({chr(97 + i)}) {title}", fontsize=8)


def save(name: str, drawing: Drawing, outcomes: Mapping[str, Any], folder: Path, salt: str) -> None:
    """Draws a figure as ``name.png`` and ``name.svg``, the same bytes for the same numbers; ``salt`` goes into ids of the SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    with style(), matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none", "savefig.dpi": 200}):
        figure = drawing.draw(outcomes)
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
