"""Studies: papers done again, each a folder with a ``study.py``.

``timeplane study`` lists them, ``timeplane study NAME`` runs one. A study's folder has the paper's numbers (``published.csv``), its
scenario, and a ``study.py`` with ``ABOUT``, a line that says what it asks, and ``run(options)``. What several studies need is here: where they
are, what the command line may say, and statistics over seeds that follow the rules of the comparison.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from timeplane import _core

__all__ = ["Difference", "Estimate", "Options", "Study", "difference", "estimate", "find", "main", "places", "studies"]

#: Two means are called the same where they are proved to be within this share of the baseline.
MARGIN = 0.1
LEVEL = 0.95


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    #: Where figures, tables and runs go.
    out: Path
    #: A small version of everything, in less than a minute.
    quick: bool = False
    #: Runs at the same time; ``None``: one per processor.
    jobs: int | None = None
    #: Seeds instead of the study's own number.
    seeds: int | None = None
    #: Figures to make; all where it is empty.
    figures: tuple[str, ...] = ()
    #: Hears what is going on.
    tell: Callable[[str], object] = print


@dataclass(frozen=True)
class Study:
    """A folder with a ``study.py``."""

    name: str
    folder: Path

    def load(self) -> ModuleType:
        """Its module; other files of the folder are its submodules."""
        name = "timeplane_study_" + self.name.replace("-", "_")
        if name in sys.modules:
            return sys.modules[name]
        place = self.folder / "study.py"
        spec = importlib.util.spec_from_file_location(name, place, submodule_search_locations=[str(self.folder)])
        if spec is None or spec.loader is None:
            raise ImportError(f"{place} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    @property
    def about(self) -> str:
        """What it asks, in a line: the first one of its ``study.py``."""
        with (self.folder / "study.py").open(encoding="utf-8") as file:
            return file.readline().strip().strip('"').rstrip(".")


def places() -> list[Path]:
    """Folders in which studies are looked for: one that ``TIMEPLANE_STUDIES`` names, that of the package, that of the repository, and
    ``studies`` in the current folder.
    """
    package = Path(__file__).resolve().parent
    named = os.environ.get("TIMEPLANE_STUDIES")
    folders = [Path(named)] if named else []
    folders += [package / "studies", package.parent.parent / "studies", Path.cwd() / "studies"]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def studies() -> list[Study]:
    """All that are found, by name."""
    found: dict[str, Study] = {}
    for place in places():
        for file in sorted(place.glob("*/study.py")):
            found.setdefault(file.parent.name, Study(file.parent.name, file.parent))
    return [found[name] for name in sorted(found)]


def find(name: str) -> Study:
    """The study of this name; raises ``LookupError`` with the nearest right name."""
    known = {study.name: study for study in studies()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    help_ = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known) or 'none here'}"
    raise LookupError(f"there is no study `{name}`: {help_}")


# Statistics over seeds.


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds."""

    mean: float
    #: Half of the 95 % confidence interval (Student's t); ``nan`` of one seed.
    half: float
    #: Seeds.
    n: int


@dataclass(frozen=True)
class Difference:
    """A relative difference of two controls, seed by seed on the same arrivals."""

    mean: float
    half: float
    n: int
    #: Of two one-sided t-tests against the margin; ``nan`` of one seed.
    p_equivalent: float

    @property
    def verdict(self) -> str:
        """``same`` within the margin, ``differs`` beyond chance, ``both`` (a difference that is proved, and proved to be small), or
        ``unknown``.
        """
        if math.isnan(self.half):
            return "unknown"
        differs, same = abs(self.mean) > self.half, self.p_equivalent < 1 - LEVEL
        return {(True, True): "both", (True, False): "differs", (False, True): "same", (False, False): "unknown"}[differs, same]


def estimate(values: Iterable[float]) -> Estimate:
    """Mean and interval of one number per seed; seeds without a value (``nan``) are left out and lower ``n``."""
    known = [v for v in values if not math.isnan(v)]
    mean, half = _core.interval(known, LEVEL) or (math.nan, None)
    return Estimate(mean, math.nan if half is None else half, len(known))


def difference(values: Sequence[float], baseline: Sequence[float], margin: float = MARGIN) -> Difference:
    """How far ``values`` are above ``baseline``, relative to it: means of paired differences, and a test of equivalence (two one-sided
    t-tests).
    """
    pairs = [(v, b) for v, b in zip(values, baseline, strict=True) if not (math.isnan(v) or math.isnan(b) or b == 0)]
    of = estimate(v / b - 1 for v, b in pairs)
    p = _core.equivalence([v for v, _ in pairs], [b for _, b in pairs], margin)
    return Difference(of.mean, of.half, of.n, math.nan if p is None else p)


# The command.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="timeplane study", description="Runs a study of a paper; without a name, lists them.")
    parser.add_argument("name", nargs="?", help="which one")
    parser.add_argument("--quick", action="store_true", help="a small version of everything, in less than a minute")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="runs at the same time [default: one per processor]")
    parser.add_argument("--seeds", type=_positive, metavar="N", help="seeds of every run, instead of the study's own number")
    parser.add_argument("--figures", default="", metavar="NAME,..", help="only these figures")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where figures, tables and runs go [default: results/NAME]")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def main(arguments: Sequence[str]) -> int:
    """``timeplane study`` with these arguments; returns the exit code."""
    try:
        given = _parser().parse_args(arguments)
    except SystemExit as exit_:
        return int(exit_.code or 0)
    if given.name is None:
        for study in studies():
            print(f"{study.name}  {study.about}")
        return 0
    try:
        study = find(given.name)
    except LookupError as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        return 2
    options = Options(
        out=given.out or Path("results") / study.name,
        quick=given.quick,
        jobs=given.jobs,
        seeds=given.seeds,
        figures=tuple(f for f in given.figures.split(",") if f),
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    try:
        study.load().run(options)
    except LookupError as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"error: {error}; figures need `pip install 'timeplane[plot]'`", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
