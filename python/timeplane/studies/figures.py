"""Shared parts of figures: two columns wide, one legend above all panels, colors and lines of
:mod:`timeplane.plot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeplane.plot import COLORS, LINES, MARKERS, style
from timeplane.studies._claims import seeds_of

__all__ = [
    "BLACK",
    "BLUE",
    "COLORS",
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

#: Width of two columns of a paper, in inches.
WIDE = 6.9
BLUE, RED, GREEN, PINK, SKY, ORANGE, BLACK = COLORS


@dataclass(frozen=True)
class Drawing:
    """A figure and its experiments; ``optional`` ones are drawn if they were run."""

    #: Called with outcomes by experiment name.
    draw: Callable[[Any], Figure]
    needs: Sequence[str]
    optional: Sequence[str] = ()


#: By the names that ``--figures`` accepts.
Figures = Mapping[str, Drawing]


def panels(count: int, width: float = WIDE, height: float = 2.15, **options: Any) -> tuple[Figure, Sequence[Axes]]:
    """A figure of ``width`` by ``height`` inches with ``count`` axes side by side; ``options`` are
    those of ``Figure.subplots``.
    """
    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(1, count, squeeze=False, **options)[0])


def legend(figure: Figure, axes: Iterable[Axes], columns: int = 4) -> None:
    """Place one legend above all panels, with each label once."""
    entries: dict[str, Any] = {}
    for a in axes:
        for handle, label in zip(*a.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=min(len(entries), columns))


def letter(axes: Sequence[Axes], titles: Sequence[str]) -> None:
    """Name the panels (a), (b), ..."""
    for i, (a, title) in enumerate(zip(axes, titles, strict=True)):
        a.set_title(f"({chr(97 + i)}) {title}", fontsize=8)


#: Formats of figures, with what would make their bytes differ from one run to the next.
FORMATS: Mapping[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save(
    name: str, drawing: Drawing, outcomes: Mapping[str, Any], folder: Path, salt: str, formats: Sequence[str] = ("png", "svg")
) -> None:
    """Draw a figure in these formats, with the same bytes for the same numbers. ``salt`` is part
    of the SVG's ids. The number of seeds behind the means that it shows is written below it.
    """
    shown = [outcomes[of] for of in (*drawing.needs, *drawing.optional) if of in outcomes]
    for outcome in shown:
        outcome.asked.clear()
    folder.mkdir(parents=True, exist_ok=True)
    with style(), matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none", "savefig.dpi": 200}):
        figure = drawing.draw(outcomes)
        if (seeds := seeds_of(shown)) != "none":
            figure.text(0.998, 0.002, f"n = {seeds}", ha="right", va="bottom", fontsize=5, color="0.4")
        for kind in formats:
            figure.savefig(folder / f"{name}.{kind}", metadata=FORMATS[kind])
