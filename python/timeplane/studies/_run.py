"""Running a study: experiments, tables, figures, comparison."""

from __future__ import annotations

import difflib
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeplane.studies import _claims
from timeplane.studies._outcome import E, O
from timeplane.studies._tables import table as plain_table
from timeplane.studies._tables import write_csv

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
    #: Receives progress messages.
    tell: Callable[[str], object] = print


def run(
    options: Options,
    folder: Path,
    *,
    experiments: Mapping[str, E],
    simulate: Callable[[E, Options, Mapping[str, O]], O],
    figures: Mapping[str, Drawing],
    claims: _claims.Claims,
    table: Callable[[O], Iterable[Sequence[str]]] = plain_table,
) -> dict[str, O]:
    """Run the experiments of the chosen figures, draw these, and compare; return outcomes by
    experiment.

    Writes ``runs``, ``tables`` and ``figures`` into ``options.out``. ``tables`` has one file per
    experiment (rows of ``table``, the header first) and ``compared.csv`` and ``.md``. ``folder`` is
    the study's, with ``published.csv``. ``simulate`` runs one experiment, and gets the outcomes of
    all earlier ones in the order in which figures need them. Raises ``LookupError`` for an unknown
    figure.
    """
    from timeplane.studies.figures import save

    names = _chosen(options, figures)
    outcomes: dict[str, O] = {}
    begin = time.monotonic()
    for name in _wanted([figures[name] for name in names], experiments):
        outcomes[name] = simulate(experiments[name], options, outcomes)
        write_csv(options.out / "tables" / f"{name}.csv", table(outcomes[name]))
    for name in names:
        save(name, figures[name], outcomes, options.out / "figures", folder.name)
    rows = _claims.compare(_claims.published(folder), claims, outcomes)
    write_csv(options.out / "tables" / "compared.csv", [_claims.HEAD, *rows])
    (options.out / "tables" / "compared.md").write_text(_claims.markdown(rows), encoding="utf-8")
    options.tell(f"{time.monotonic() - begin:.0f} s in all; figures and tables are in {options.out}")
    _claims.show(rows)
    return outcomes


def reproduce(
    options: Options,
    package: str,
    simulate: Callable[[E, Options, Mapping[str, O]], O],
    table: Callable[[O], Iterable[Sequence[str]]] = plain_table,
) -> dict[str, O]:
    """Call :func:`run` with the modules of a study.

    ``package`` is the ``__name__`` of its ``study.py``. Its submodules hold ``FOLDER`` and
    ``experiments(quick)`` (``experiments.py``), ``FIGURES`` (``figures.py``) and ``CLAIMS``
    (``claims.py``). Figures are imported here because they need matplotlib, which listing and
    loading studies does not.
    """
    parts, figures, claims = (import_module(f"{package}.{part}") for part in ("experiments", "figures", "claims"))
    return run(
        options,
        parts.FOLDER,
        experiments=parts.experiments(options.quick),
        simulate=simulate,
        figures=figures.FIGURES,
        claims=claims.CLAIMS,
        table=table,
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
