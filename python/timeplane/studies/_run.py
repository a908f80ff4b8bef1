"""What a study's ``run`` does."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    """Runs what the chosen figures need, draws these, and compares; returns what came out, by experiment.

    Into ``options.out`` come ``runs``, ``tables`` with a file per experiment (rows of ``table``, the head first) and ``compared.csv`` and
    ``.md``, and ``figures``. ``folder`` is the study's, with ``published.csv``. ``simulate`` runs one experiment; it gets the outcomes of
    those before it, which are in the order in which figures ask for them. Raises ``LookupError`` for a figure that there is not.
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


def _chosen(options: Options, known: Mapping[str, Any]) -> list[str]:
    for name in options.figures:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise LookupError(f"there is no figure `{name}`: did you mean `{near}`? There are {', '.join(known)}")
    return list(options.figures or known)


def _wanted(drawings: Sequence[Drawing], experiments: Mapping[str, Any]) -> list[str]:
    """Experiments, each once; optional ones where they exist."""
    wanted: dict[str, None] = {}
    for drawing in drawings:
        wanted |= dict.fromkeys((*drawing.needs, *(name for name in drawing.optional if name in experiments)))
    return list(wanted)
