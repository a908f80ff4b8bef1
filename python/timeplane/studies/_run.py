"""Running a study: experiments, tables, figures, and the comparison, which reads tables only."""

from __future__ import annotations

import difflib
import os
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeplane.studies import _claims, _history, _inputs
from timeplane.studies._outcome import E, O, Outcome
from timeplane.studies._tables import read_table, write_csv
from timeplane.studies._tables import table as plain_table

if TYPE_CHECKING:
    from timeplane.studies.figures import Drawing


@dataclass(frozen=True)
class Options:
    """Options of the command line."""

    #: Folder for figures, tables and runs.
    out: Path
    #: Run a small version of everything, in less than a minute.
    quick: bool = False
    #: Number of concurrent runs; ``None``: one per processor.
    jobs: int | None = None
    #: Number of seeds instead of the study's own.
    seeds: int | None = None
    #: Figures to make; all if empty.
    figures: tuple[str, ...] = ()
    #: Judge tables that exist, and run nothing.
    judge: bool = False
    #: Write tables and figures into the study's folder, where they are committed.
    in_place: bool = False
    #: Run nothing if all tables and figures are of the study as it is, and of this program.
    resume: bool = False
    #: Formats of figures.
    formats: tuple[str, ...] = ("png", "svg")
    #: Receives the verdict of each statement, by its id.
    verdicts: dict[str, str] = field(default_factory=dict)
    #: Receives progress messages.
    tell: Callable[[str], object] = print

    def place(self, folder: Path) -> Path:
        """The folder of `tables` and `figures`; ``folder`` is the study's."""
        return folder if self.in_place else self.out


def run(
    options: Options,
    folder: Path,
    *,
    experiments: Mapping[str, E],
    simulate: Callable[[E, Options, Mapping[str, O]], O],
    figures: Mapping[str, Drawing],
    claims: _claims.Claims,
    table: Callable[[O], Iterable[Sequence[str]]] = plain_table,
    read: Callable[[Path, Outcome[E]], Outcome[E]] = read_table,
) -> dict[str, O]:
    """Run the experiments of the chosen figures, draw these, and compare; return outcomes by
    experiment.

    Writes ``tables`` and ``figures`` into ``options.place(folder)``, with what they were made from
    and their costs (``inputs.csv``, ``costs.csv``), and ``runs`` into ``options.out``. ``tables`` has one file per experiment (rows of ``table``, the header first)
    and ``compared.csv`` and ``.md``. ``folder`` is the study's, with ``published.csv``.
    ``simulate`` runs one experiment, and gets the outcomes of all earlier ones in the order in
    which figures need them. The comparison gets what ``read`` finds in the tables, so that
    ``options.judge`` finds the same. Raises ``LookupError`` for an unknown figure.
    """
    names = [] if options.judge else _chosen(options, figures)
    place, outcomes = options.place(folder), dict[str, O]()
    begin = time.monotonic()
    wanted = _wanted([figures[name] for name in names], experiments)
    complete = bool(wanted) and options.resume and _is_complete(options, folder, place, experiments, wanted)
    if complete:
        options.tell(f"{folder.name}: complete, by the same sources and program; nothing to run")
    elif not options.judge:
        from timeplane.studies.figures import save

        for name in wanted:
            with _inputs.measured(options.out / "runs") as cost:
                outcomes[name] = simulate(experiments[name], options, outcomes)
            write_csv(place / "tables" / f"{name}.csv", table(outcomes[name]))
            if not options.quick:
                _note(options, folder, place, experiments, name, cost)
        for name in names:
            save(name, figures[name], outcomes, place / "figures", folder.name, options.formats)
        if not (options.quick or options.figures):
            _inputs.write(place, {_inputs.FIGURES: (_inputs.digest_of_figures(folder), "")}, experiments)
    # Tables in the study's folder are all of one size; those elsewhere may be of earlier options.
    tables = {name: place / "tables" / f"{name}.csv" for name in (experiments if options.judge or options.in_place or complete else outcomes)}
    found = {name: read(file, Outcome(experiments[name])) for name, file in tables.items() if file.exists()}
    rows = _claims.compare(_claims.published(folder), claims, found, options.quick)
    options.verdicts.update((row[0], row[-1]) for row in rows)
    _keep(options, folder, rows)
    if not (options.judge or complete):
        options.tell(f"{time.monotonic() - begin:.0f} s in all; figures and tables are in {place}")
    _claims.show(rows)
    return outcomes


def _is_complete(options: Options, folder: Path, place: Path, experiments: Mapping[str, Any], wanted: Sequence[str]) -> bool:
    """Whether all that is wanted is there, made by the study and the program as they are."""
    if options.quick or options.seeds or _inputs.stale(folder, place, experiments, wanted):
        return False
    made, now = _inputs.read(place), _inputs.program()
    return all(made[name][1] in ("", now) for name in wanted)


def _note(options: Options, folder: Path, place: Path, experiments: Mapping[str, Any], name: str, cost: _inputs.Cost) -> None:
    """Note what a table was made from, and what it cost. Tables of other numbers of seeds than the
    study's own are not noted.
    """
    experiment = experiments[name]
    if options.seeds and experiment.seeds > 1:
        return
    _inputs.write(place, {name: (_inputs.digest(folder, experiment), cost.program)}, experiments)
    jobs = options.jobs or os.cpu_count() or 1
    _inputs.write_costs(place, {name: (experiment.seeds, jobs, cost)}, experiments)


def _keep(options: Options, folder: Path, rows: list[list[str]]) -> None:
    """Write the comparison; in the study's folder also the history of verdicts and the README."""
    place = options.place(folder)
    file = place / "tables" / "compared.csv"
    if options.judge and place == folder and not options.in_place:
        return
    if not options.in_place:
        write_csv(file, [_claims.HEAD, *rows])
        file.with_suffix(".md").write_text(_claims.markdown(rows), encoding="utf-8")
        return
    if missing := [row["id"] for row in _claims.published(folder) if row["id"] not in {found[0] for found in rows}]:
        raise LookupError(f"{place / 'tables'} lacks the tables of {', '.join(missing)}: run the study without --judge and --figures")
    before = _claims.verdicts(file)
    write_csv(file, [_claims.HEAD, *rows])
    open_ = _history.extend(folder, before, {row[0]: row[-1] for row in rows})
    if open_:
        options.tell(f"{folder.name}/history.csv: write the reason for the new verdicts of {', '.join(open_)}, then run this again with --judge")
    readme = folder / "README.md"
    parts = {"statements": _claims.markdown(rows), "history": _history.markdown(_history.history(folder))}
    readme.write_text(_history.rewrite(readme.read_text(encoding="utf-8"), parts), encoding="utf-8")


def reproduce(
    options: Options,
    package: str,
    simulate: Callable[[E, Options, Mapping[str, O]], O],
    table: Callable[[O], Iterable[Sequence[str]]] = plain_table,
    read: Callable[[Path, Outcome[E]], Outcome[E]] = read_table,
) -> dict[str, O]:
    """Call :func:`run` with the modules of a study.

    ``package`` is the ``__name__`` of its ``study.py``. Its submodules hold ``FOLDER`` and
    ``experiments(quick)`` (``experiments.py``), ``FIGURES`` (``figures.py``) and ``CLAIMS``
    (``claims.py``). Figures are imported here because they need matplotlib, which listing and
    loading studies does not.
    """
    parts, claims = (import_module(f"{package}.{part}") for part in ("experiments", "claims"))
    return run(
        options,
        parts.FOLDER,
        experiments=parts.experiments(options.quick),
        simulate=simulate,
        # Judging draws nothing, and does not need matplotlib.
        figures={} if options.judge else import_module(f"{package}.figures").FIGURES,
        claims=claims.CLAIMS,
        table=table,
        read=read,
    )


def base_scenario(folder: Path) -> dict[str, Any]:
    """Read ``scenario.toml`` of a study's folder as nested dicts; every call returns new ones."""
    return tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))


def _chosen(options: Options, known: Mapping[str, Any]) -> list[str]:
    for name in options.figures:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise LookupError(f"there is no figure `{name}`: did you mean `{near}`? There are {', '.join(known)}")
    return list(options.figures or known)


def _wanted(drawings: Sequence[Drawing], experiments: Mapping[str, Any]) -> list[str]:
    """Necessary experiments, each once, and optional ones that exist."""
    wanted: dict[str, None] = {}
    for drawing in drawings:
        wanted |= dict.fromkeys((*drawing.needs, *(name for name in drawing.optional if name in experiments)))
    return list(wanted)
