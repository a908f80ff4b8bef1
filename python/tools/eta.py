"""Compare the time that is left by a progress bar with the truth: ``python python/tools/eta.py
[FILE ...]``.

Runs each scenario once, all runs anew, and prints what the bar had said at 25, 50, 75 and 90 % of
the whole time, and what was really left. By default these are four scenarios of ``scenarios`` that
take from seconds to minutes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import timeplane as tp

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
DEFAULT = ("load", "shuffle", "fb2010", "fb2010-large")
SHARES = (0.25, 0.5, 0.75, 0.9)


def told(file: Path) -> tuple[float, int, list[float | None]]:
    """The seconds of all runs, their number, and the seconds left by the bar at each share."""
    begin = time.perf_counter()
    seen: list[tuple[float, float | None]] = []
    results = tp.Scenario.from_file(file).run(progress=lambda p: seen.append((time.perf_counter() - begin, p.remaining)))
    whole = time.perf_counter() - begin

    def at(moment: float) -> float | None:
        before = [(when, left) for when, left in seen if when <= moment and left is not None]
        if not before:
            return None
        when, left = before[-1]
        # The bar counts down between two estimates.
        return max(left - (moment - when), 0.0)

    return whole, len(results.runs), [at(share * whole) for share in SHARES]


def main() -> None:
    files = [Path(a) for a in sys.argv[1:]] or [SCENARIOS / f"{name}.toml" for name in DEFAULT]
    print("| scenario | runs | all, s |" + "".join(f" left at {share:.0%}, s: told / true |" for share in SHARES))
    print("| --- | ---: | ---: |" + " ---: |" * len(SHARES))
    for file in files:
        whole, runs, left = told(file)
        said = ["none" if seconds is None else f"{seconds:.1f}" for seconds in left]
        cells = [f" {text} / {whole * (1 - share):.1f} |" for share, text in zip(SHARES, said, strict=True)]
        print(f"| {file.stem} | {runs} | {whole:.1f} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
