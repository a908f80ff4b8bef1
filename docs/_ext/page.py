"""Helpers for code cells of pages: a clone to work in, and pictures in the colors of the page."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

#: Placeholders that are replaced by the page's own colors.
TEXT, LINE = "#010203", "#040506"
_THEME = {TEXT: "var(--color-foreground-primary)", LINE: "var(--color-foreground-border)"}


def clone(*folders: str) -> None:
    """Copy folders of the repository to where the page runs, so that its paths are those of a clone."""
    root = Path(os.environ["TIMEPLANE_DOCS_CLONE"])
    for folder in folders:
        shutil.copytree(root / folder, folder, dirs_exist_ok=True)


class Picture:
    """An SVG in the page's own colors, with an alternative text."""

    def __init__(self, svg: str, text: str) -> None:
        self.svg, self.text = svg, text

    def _repr_html_(self) -> str:
        return f'<figure class="picture" role="img" aria-label="{self.text}">{self.svg}</figure>'


def _settings(name: str) -> dict[str, object]:
    """Settings of a picture whose colors are placeholders. ``name`` seeds the ids of its parts."""
    colors = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), TEXT)
    colors |= dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color", "legend.edgecolor"), LINE)
    return colors | {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
    }


def _svg(figure: Any) -> str:
    out = StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    return svg[svg.index("<svg") :]


@contextmanager
def figure(name: str) -> Iterator[Callable[[Any], str]]:
    """Yield a function from a figure that is drawn inside to its SVG, with placeholders."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context(_settings(name)):
        yield _svg
        pyplot.close("all")


def themed(svg: str, width: float) -> str:
    """Replace the placeholders of a picture by the colors and the font of the page. It is at most ``width`` inches wide."""
    for color, variable in _THEME.items():
        svg = svg.replace(color, variable)
    svg = re.sub(r' (?:height|width)="[^"]*pt"', "", svg, count=2).replace("<svg ", f'<svg style="max-width: {width * 96:.0f}px" ', 1)
    return re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)


@contextmanager
def drawing(name: str, text: str, *, width: float = 7.0, height: float = 2.6, rows: int = 1, columns: int = 1, **more: object) -> Iterator[object]:
    """Yield the axes of a picture in inches. ``name`` seeds the ids of its parts; ``text`` describes it."""
    from IPython.display import display

    with figure(name) as save:
        from matplotlib import pyplot

        drawn, axes = pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", **more)
        yield axes
        svg = save(drawn)
    display(Picture(themed(svg, width), text))
