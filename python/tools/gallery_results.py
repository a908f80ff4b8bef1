"""Renews the stored results of the gallery of scenarios: tables and pictures in `docs/gallery`.

    .venv/bin/python python/tools/gallery_results.py              # what has changed
    .venv/bin/python python/tools/gallery_results.py shuffle      # these, changed or not

A scenario of which only comments or the description have changed is not run again. Runs are removed
afterwards, unless `--results` names a folder. Complete runs there are reused, as after a change of a
picture, and the stored cost stays. The package should be a release build, because the cost is that
of the build.
"""

from __future__ import annotations

import argparse
import filecmp
import math
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.colors import to_rgb, to_rgba_array

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import page  # noqa: E402
import scenario_answers  # noqa: E402
import scenario_gallery  # noqa: E402
import scenario_results as stored  # noqa: E402

import timeplane as tp  # noqa: E402
from timeplane.studies import _inputs  # noqa: E402

_GRAY = "#777777"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="NAME", help="files of scenarios/ without .toml; by default those that have changed")
    parser.add_argument("--results", type=Path, help="keep runs in this folder, and reuse those that are complete")
    options = parser.parse_args()
    every = stored.names()
    if unknown := sorted({*options.scenarios} - {*every}):
        parser.error(f"there is no scenarios/{unknown[0]}.toml: expected one of {', '.join(every)}")
    rows, values = stored.read()
    rows = {name: row for name, row in rows.items() if name in every}
    for picture in (stored.PLACE / "pictures").glob("*.svg"):
        if picture.stem not in every:
            picture.unlink()
    for name in every:
        text, definition = stored.digests(stored.SCENARIOS / f"{name}.toml")
        row = rows.get(name)
        picture = stored.PLACE / "pictures" / f"{name}.svg"
        if name in options.scenarios or row is None or row.values != definition or not picture.exists():
            if options.scenarios and name not in options.scenarios:
                continue
            print(f"{name}: running", flush=True)
            with tempfile.TemporaryDirectory() as temporary:
                rows[name], values[name] = run(name, row, text, definition, options.results or Path(temporary), picture)
        elif row.text != text:
            print(f"{name}: only its text has changed", flush=True)
            rows[name] = replace(row, text=text)
        stored.write(rows, values)
    return 0


def run(name: str, before: stored.Row | None, text: str, definition: str, folder: Path, picture: Path) -> tuple[stored.Row, list[stored.Value]]:
    """Run a scenario and draw its picture; return its rows."""
    scenario = tp.Scenario.from_file(stored.SCENARIOS / f"{name}.toml")
    folder.mkdir(parents=True, exist_ok=True)
    with _inputs.measured(folder) as cost:
        results = scenario.run(results=folder)
    found = scenario_gallery.measure(name, results)
    card = scenario_answers.card(name)
    made, spent, peak = build(), round(cost.processor_minutes * 60, 2), round(cost.peak_mb)
    if not cost.whole:
        if before is None or before.values != definition:
            sys.exit(f"{name}: {folder} has some of its runs, so that its cost is unknown: run this without --results")
        made, spent, peak = before.build, before.processor_s, before.peak_mb
    draw(name, results, card, picture)
    print(f"{name}: {spent:.1f} s of processor time, {peak} MB, {picture.stat().st_size / 1e3:.0f} kB", flush=True)
    return stored.Row(name, text, definition, cost.program, made, len(results.runs), spent, peak), found


def build() -> str:
    """Whether the package is the build of the tests, `development`, or a `release`."""
    library = ROOT / "target" / "debug" / "libtimeplane_core.so"
    return "development" if library.exists() and filecmp.cmp(library, tp._core.__file__, shallow=False) else "release"


def draw(name: str, results: tp.Results, card: scenario_answers.Card, picture: Path) -> None:
    """Draw the picture of a scenario in colors that pages replace by their own."""
    with page.figure(name) as save:
        drawn = card.draw(results).figure
        for artist in drawn.findobj(lambda artist: hasattr(artist, "get_facecolor")):
            _without_black(artist)
        svg = save(drawn)
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(slim(svg), encoding="utf-8")


def _without_black(artist: Any) -> None:
    """Replace black, the last color of schemes, by a gray that is seen on dark pages and under white digits."""
    colors = to_rgba_array(artist.get_facecolor())
    if (colors == (0, 0, 0, 1)).all(axis=1).any():
        artist.set_facecolor([(*to_rgb(_GRAY), 1.0) if tuple(color) == (0, 0, 0, 1) else color for color in colors] if len(colors) > 1 else _GRAY)


def slim(svg: str) -> str:
    """Shorten a picture: tenths of points, no comments, and no points on a line between others. Black lines get the color of texts."""
    svg = re.sub(r"\n *<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<= d=")[^"]*', lambda found: _path(found[0]), svg)
    # Numbers of attributes; those of texts stay.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d)\d+", r"\1", tag[0]), svg)
    # Whiskers and bounds are black, which nobody would see on a dark page.
    svg = svg.replace("stroke: #000000", f"stroke: {page.TEXT}")
    return re.sub(r"\n\s*", "\n", svg)


def _path(text: str) -> str:
    """The same path of straight lines with fewer points; other paths are left as they are."""
    if set(re.findall("[A-Za-z]", text)) - {*"MLz"}:
        return text
    parts = [[(float(x), float(y)) for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", part)] for part in text.split("M")[1:]]
    ends = ["z" if "z" in part else "" for part in text.split("M")[1:]]
    return "".join("M" + " ".join(f"{x:.1f} {y:.1f}" for x, y in thinned(part)) + end for part, end in zip(parts, ends))


def thinned(points: list[tuple[float, float]], distance: float = 0.1) -> list[tuple[float, float]]:
    """Leave out points that are nearer than a distance to the line between others (Douglas and Peucker)."""
    keep = {0, len(points) - 1}
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        (x0, y0), (x1, y1) = points[first], points[last]
        length = math.hypot(x1 - x0, y1 - y0)

        def off(i: int) -> float:
            x, y = points[i]
            return abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) / length if length else math.hypot(x - x0, y - y0)

        far = max(range(first + 1, last), key=off, default=first)
        if far != first and off(far) > distance:
            keep.add(far)
            spans += [(first, far), (far, last)]
    return [points[i] for i in sorted(keep)]


if __name__ == "__main__":
    sys.exit(main())
