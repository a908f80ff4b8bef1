"""The command ``timeplane study``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from timeplane.studies._find import Study, find, studies
from timeplane.studies._run import Options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="timeplane study", description="Run a study of a paper; without a name, list the studies.")
    parser.add_argument("name", nargs="?", help="run this study, or `all`")
    parser.add_argument("--quick", action="store_true", help="run a small version of everything, in less than a minute")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="run N runs concurrently [default: one per processor]")
    parser.add_argument("--seeds", type=_positive, metavar="N", help="run N seeds instead of the study's own number")
    parser.add_argument("--figures", default="", metavar="NAME,..", help="make only these figures")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write figures, tables and runs to DIR [default: results/NAME]")
    parser.add_argument("--in-place", action="store_true", help="write figures and tables to the study's own folder, with its README")
    parser.add_argument("--judge", action="store_true", help="judge the study's own tables, or those in DIR, and run nothing")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value}: expected at least 1")
    return value


def main(arguments: Sequence[str]) -> int:
    """Run ``timeplane study`` with these arguments and return the exit code."""
    try:
        given = _parser().parse_args(arguments)
    except SystemExit as exit_:
        return int(exit_.code or 0)
    if given.name is None:
        found = studies()
        for study in found:
            print(f"{study.name}  {study.about}")
        if not found:
            print(
                "error: no studies found: expected the folder `studies` of a clone of timeplane, or the folder that TIMEPLANE_STUDIES names",
                file=sys.stderr,
            )
        return 0 if found else 2
    if given.in_place and (given.quick or given.seeds):
        print("error: --in-place keeps the tables of a full run: expected neither --quick nor --seeds", file=sys.stderr)
        return 2
    try:
        chosen = studies() if given.name == "all" else [find(given.name)]
        for study in chosen:
            if len(chosen) > 1:
                print(f"# {study.name}", flush=True)
            study.load().run(_options(given, study))
    except LookupError as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"error: {error}; figures need `pip install 'timeplane[plot]'`", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _options(given: argparse.Namespace, study: Study) -> Options:
    """Options of one study."""
    out = Path("results") / study.name
    if given.out:
        out = given.out / study.name if given.name == "all" else given.out
    elif given.judge:
        out = study.folder
    return Options(
        out=out,
        quick=given.quick,
        jobs=given.jobs,
        seeds=given.seeds,
        figures=tuple(f for f in given.figures.split(",") if f),
        judge=given.judge,
        in_place=given.in_place,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
