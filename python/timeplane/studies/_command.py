"""The command ``timeplane study``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from timeplane.studies import _audit, _inputs
from timeplane.studies._audit import APART
from timeplane.studies._find import Study, find, studies
from timeplane.studies._run import Options
from timeplane.studies.scale import VERDICTS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="timeplane study", description="Run a study of a paper; without a name, list the studies.")
    parser.add_argument("name", nargs="?", help="run this study, or `all`: those whose tables are not complete")
    parser.add_argument("--all", action="store_true", help="as the name `all`")
    parser.add_argument("--quick", action="store_true", help="run a small version of everything, in less than a minute")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="run N runs concurrently [default: one per processor]")
    parser.add_argument("--seeds", type=_positive, metavar="N", help="run N seeds instead of the study's own number")
    parser.add_argument("--figures", default="", metavar="NAME,..", help="make only these figures")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write figures, tables and runs to DIR [default: results/NAME]")
    parser.add_argument("--in-place", action="store_true", help="write figures and tables to the study's own folder, with its README")
    parser.add_argument("--judge", action="store_true", help="judge the study's own tables, or those in DIR, and run nothing")
    parser.add_argument("--format", default="png,svg", type=_formats, metavar="NAME,..", help="draw figures as png, svg or pdf [default: png,svg]")
    parser.add_argument("--check", action="store_true", help="say which tables were made from other sources than those of the study, and run nothing")
    parser.add_argument("--stamp", action="store_true", help="note that the study's own tables hold for its sources as they are, and run nothing")
    return parser


def _formats(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if unknown := [name for name in chosen if name not in ("png", "svg", "pdf")]:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: expected png, svg or pdf")
    return chosen


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
    if given.all:
        given.name = "all"
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
        if given.check or given.stamp:
            return max([_check(given, study) for study in chosen], default=0)
        audit = {}
        for study in chosen:
            if len(chosen) > 1:
                print(f"# {study.name}", flush=True)
            options = _options(given, study)
            study.load().run(options)
            audit[study.name] = options.verdicts.values()
        if given.name == "all":
            print("\n".join(("# all", *counts(audit))))
            print("\n".join(("# audit", *_aligned(_audit.counts(audit)))))
            if given.in_place:
                print(f"the audit is in {_audit.write(chosen)}")
    except LookupError as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"error: {error}; figures need `pip install 'timeplane[plot]'`", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def counts(verdicts: Mapping[str, Collection[str]]) -> list[str]:
    """Lines of a table: how many statements of each study have each verdict, and their sums."""
    shown = [word for word in VERDICTS if any(word in of for of in verdicts.values())]
    papers = [word for name, of in verdicts.items() if name not in APART for word in of]
    rows = [("study", "statements", *shown)]
    for name, of in (*((n, o) for n, o in verdicts.items() if n not in APART), ("sum", papers), *((n, o) for n, o in verdicts.items() if n in APART)):
        rows.append((name, str(len(of)), *(str(list(of).count(word)) for word in shown)))
    return _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: names at the left, numbers at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]) for row in rows]


def _check(given: argparse.Namespace, study: Study) -> int:
    """Say which tables of a study, and whether its figures, are of other sources; 1 if any is."""
    module = study.load()
    experiments = import_module(f"{module.__name__}.experiments").experiments(False)
    place = _options(given, study).out if given.out else study.folder
    if given.stamp:
        made = {name: (_inputs.digest(study.folder, of), _inputs.read(place).get(name, ("", ""))[1]) for name, of in experiments.items()}
        _inputs.write(place, made | {_inputs.FIGURES: (_inputs.digest_of_figures(study.folder), "")}, experiments)
    found = _inputs.stale(study.folder, place, experiments, experiments)
    now = _inputs.program()
    others = [name for name, (_, program) in _inputs.read(place).items() if program not in ("", now)]
    tables = [name for name in found if name != _inputs.FIGURES]
    print(f"{study.name}: {len(tables)} of {len(experiments)} tables are stale{': ' if tables else ''}{', '.join(tables)}")
    if _inputs.FIGURES in found:
        print(f"{study.name}: its figures are stale")
    if others:
        print(f"{study.name}: {len(others)} tables were made by another program than {now}: {', '.join(others)}")
    return 1 if found else 0


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
        resume=given.name == "all" and not given.figures,
        formats=given.format,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
